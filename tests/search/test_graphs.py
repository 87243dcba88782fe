"""The searches in static graphs, with all that can be asked of them at once."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from tests.search.fake_models import END, START, FakeModel
from tfnmt.search.beam import beam_search
from tfnmt.search.configuration import BeamConfiguration, SampleConfiguration
from tfnmt.search.constraints import ban_tokens, block_repeated_ngrams, force_prefix, require_minimum_length
from tfnmt.search.greedy import greedy_search
from tfnmt.search.sampling import sample
from tfnmt.search.step import ensemble

MODELS = [FakeModel(1, sentences=5), FakeModel(2, sentences=5)]


def prepared(sentences, lengths, prefix):
    """An ensemble under all constraints: what every search takes first."""

    def with_attention(ids, states, memory, model):
        log_probabilities, states, auxiliary = model.step(ids, states, memory)
        return log_probabilities, states, {"attention": auxiliary["attention"]}

    steps = [lambda *inputs, model=model: with_attention(*inputs, model) for model in MODELS]
    constraints = [
        functools.partial(ban_tokens, banned=[0]),
        functools.partial(block_repeated_ngrams, n=2, maximum_lengths=lengths),
        functools.partial(require_minimum_length, minimum_lengths=tf.minimum(lengths, 2), end=END),
    ]
    states = tuple(model.states(sentences) for model in MODELS)
    step, states = force_prefix(ensemble(steps), states, prefix, constraints)
    return step, states, (sentences, sentences), START, END, lengths


def by_beam(*inputs):
    c = BeamConfiguration(beam_size=3, length_penalty=0.6, coverage_penalty=0.2)
    return beam_search(*prepared(*inputs), c, coverage=lambda auxiliary, memory: auxiliary["attention"])


def by_sampling(*inputs):
    return sample(*prepared(*inputs), SampleConfiguration(temperature=1.5, top_k=3, top_p=0.9), 1, keys=inputs[0])


def greedily(*inputs):
    return greedy_search(*prepared(*inputs))


BATCHES = [
    ([3], [5], [[3]]),
    ([0, 1, 2, 4], [6, 0, 3, 1], [[1, 3, 0], [3, 3, 3], [0, 0, 0], [0, 0, 0]]),
    ([], [], np.zeros([0, 2])),
]


@pytest.mark.parametrize("search", [greedily, by_sampling, by_beam])
def test_graphs(search):
    vector, matrix = tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, None], tf.int32)
    graph = tf.function(search, input_signature=[vector, vector, matrix], autograph=False)
    for batch in BATCHES:
        inputs = [tf.constant(x, tf.int32) for x in batch]
        found, expected = graph(*inputs), search(*inputs)
        tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5), found, expected)
        assert found.auxiliary.keys() == {"attention"}
    definition = graph.get_concrete_function().graph.as_graph_def()
    nodes = [*definition.node, *(node for function in definition.library.function for node in function.node_def)]
    ops = {node.op for node in nodes}
    assert "While" in ops or "StatelessWhile" in ops
    assert ops <= set(dir(tf.raw_ops))  # TensorFlow's own, all of them
    assert not [op for op in ops if "PyFunc" in op]


@pytest.mark.parametrize("search", [greedily, by_sampling, by_beam])
def test_a_graph_for_one_size_of_batch(search):
    inputs = [tf.constant(x, tf.int32) for x in BATCHES[1]]
    found = tf.function(search, autograph=False)(*inputs)
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5), found, search(*inputs))


@pytest.mark.parametrize(("words", "readers"), [(50, ["TopKV2"]), (1024, ["Reshape"])])
def test_a_beam_search_reads_the_probabilities_of_all_words_once(words, readers):
    """They are by far the largest tensor of a step."""

    def step(ids, states, memory):
        return tf.identity(tf.gather(tf.ones([words, words]), ids), "of_all_words"), states, ()

    def search(lengths):
        return beam_search(step, (), (), START, END, lengths, BeamConfiguration(beam_size=3))

    graph = tf.function(search, input_signature=[tf.TensorSpec([None], tf.int32)], autograph=False)
    library = graph.get_concrete_function().graph.as_graph_def().library
    nodes = [node for function in library.function for node in function.node_def]
    assert sorted(node.op for node in nodes if any("of_all_words" in name for name in node.input)) == readers
