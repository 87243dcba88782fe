"""The multiplications of a forward pass: by hand, and beside TensorFlow's profiler."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tests.commands.calls import call
from tfnmt.errors import UserError
from tfnmt.layers.invariants import invariants_for_one_step
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt_programs.benchmarks.cost import multiplications_by_line, multiplications_of_the_post
from tfnmt_programs.benchmarks.untrained import untrained_translator

SIZES = {
    "source_embedding_size": 3,
    "target_embedding_size": 5,
    "encoder_units": 7,
    "decoder_units": 14,
    "attention_units": 11,
}
VOCABULARY, T, T_ = 20, 4, 6


def model_of(**options):
    return untrained_translator(TranslatorConfiguration(**SIZES | options), VOCABULARY)


def test_the_posts_own_model_costs_what_the_post_says():
    options = {"bidirectional": False, "attention": "none", "conditional": False, "deep_output": False}
    model = model_of(**options, decoder_units=7)
    post, here = (count(model, T, T) for count in (multiplications_of_the_post, multiplications_by_line))
    assert [post[part] for part in post if part[0].isdigit()] == [
        T * 20,
        T * 3 * 21,
        T * 7 * 21,
        T * 7 * 21,
        T * 7 * 21,
        T * 7 * 5,
        T * 5 * 20,
        T * 20,
    ]
    for line in "23458":
        part = next(part for part in post if part.startswith(line))
        assert here[part] == post[part], part
    assert here["1. source words to embeddings"] == here["   attention"] == 0  # looked up
    assert here["   u_{i-1} to z_i"] == T * 5 * 21
    assert here["6. decoder to target embeddings"] == 0  # no deep output: words are scored from z_i itself
    assert here["7. target embeddings to output"] == T * 7 * 20


def unrolled(model, source, target):
    """The forward pass with Python loops, which the profiler can count: it passes over what is in a graph's loop."""
    encoder, decoder = model.encoder, model.decoder
    mask = tf.transpose(source) != 0
    s = encoder.E(tf.transpose(source))
    for i in range(0, len(encoder.cells), encoder.directions):
        both = []
        for direction, cell in enumerate(encoder.cells[i : i + encoder.directions]):
            projected, invariants = cell.project(s), invariants_for_one_step(cell.loop_weights(), cell.loop_constants())
            states = (tf.zeros([source.shape[0], cell.units]),) * cell.number_of_states
            times = range(source.shape[1])[:: -1 if direction else 1]
            outputs = {}
            for t in times:
                states = cell.step(projected[t], states, invariants)
                outputs[t] = states[0]
            both.append((tf.stack([outputs[t] for t in sorted(outputs)]), states[0]))
        s, summary = (tf.concat(parts, axis=-1) for parts in zip(*both, strict=True))
    encoded = {"states": tf.transpose(s, [1, 0, 2]), "mask": tf.transpose(mask), "summary": summary}
    states, memory = decoder.start(encoded)
    scores = []
    for t in range(target.shape[1]):
        e, states, _ = decoder.step(target[:, t], states, memory)
        scores.append(e)
    return tf.stack(scores, axis=1)


def profiled_products(function):
    """FLOP of all matrix products in the graph of a function, by TensorFlow's profiler."""
    graph = tf.function(function, autograph=False).get_concrete_function().graph
    builder = tf.compat.v1.profiler.ProfileOptionBuilder
    options = builder(builder.float_operation()).with_empty_output().build()
    pending, total = [tf.compat.v1.profiler.profile(graph, cmd="op", options=options)], 0
    while pending:
        operation = pending.pop()
        pending += operation.children
        total += operation.float_ops if "MatMul" in operation.name else 0
    return total


def attention_multiplications(c):
    """By hand: queries, keys, energies and contexts."""
    encoder_size = c.encoder_units * (2 if c.bidirectional else 1)
    energies_and_contexts = T * T_ * (c.decoder_units + encoder_size)
    return {
        "none": 0,
        "additive": T_ * c.decoder_units * c.attention_units
        + T * encoder_size * c.attention_units
        + T * T_ * (c.attention_units + encoder_size),
        "dot": energies_and_contexts,
        "general": T * encoder_size * c.decoder_units + energies_and_contexts,
    }[c.attention]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"attention": "none", "conditional": False, "cell": "lstm", "encoder_layers": 2, "decoder_layers": 2},
        {"attention": "dot", "input_feeding": True, "tied_embeddings": True},
        {"attention": "general", "deep_output": False, "bidirectional": False},
        {"conditional": False, "attend_first": True, "output_units": 2, "output_activation": "maxout"},
    ],
)
def test_the_profiler_counts_the_same(options):
    """The attention of `multiplications_by_line` is what is left of the whole: so it is counted here once more."""
    model = model_of(**options)
    source, target = (tf.constant(np.full([1, words], 5, np.int32)) for words in (T, T_))
    expected = model({"source": source, "target": target})
    np.testing.assert_allclose(unrolled(model, source, target), expected, atol=1e-5)
    parts = multiplications_by_line(model, T, T_)
    counted = sum(parts.values()) - parts["8. softmax"]
    assert parts["   attention"] == attention_multiplications(model.configuration)
    assert profiled_products(lambda: unrolled(model, source, target)) == 2 * counted


@pytest.mark.slow
def test_the_script_prints_one_object_or_a_table(monkeypatch):
    monkeypatch.setattr("tfnmt_programs.benchmarks.cost.matrix_rate", lambda *shape: 100.0)
    options = ["--preset", "tiny", "--set", *(f"{key}={value}" for key, value in SIZES.items()), "vocabulary_size=20"]
    options += ["--source-words", T, "--target-words", T_, "--batch-size", 2]
    figures = json.loads(call("cost", *options, "--json"))
    assert figures["multiplications_here"] == sum(multiplications_by_line(model_of(), T, T_).values())
    without_softmax = figures["multiplications_here"] - T_ * 20
    assert figures["multiplications_backward"] == 2 * without_softmax + T_ * 20
    assert figures["flop_per_word"] == 2 * figures["multiplications_here"] / T_
    assert figures["seconds_per_word_at_matrix_rate"] == pytest.approx(
        figures["flop_per_word"] / figures["matrix_gflops"] / 1e9
    )
    assert 0 < figures["seconds_per_word_forward"] < 1 and 0 < figures["seconds_per_word_greedy"] < 1
    monkeypatch.setattr("tfnmt_programs.benchmarks.cost.measured_seconds", lambda *sizes: {})
    table = call("cost", *options).splitlines()
    assert table[2].split()[-1] == f"{figures['parts']['2. source embeddings to the encoder']['here']:,}"


def test_what_is_wrong_with_the_options():
    with pytest.raises(UserError, match="unknown key .decoder_unit.; the nearest is .decoder_units."):
        call("cost", "--set", "decoder_unit=3")
    with pytest.raises(UserError, match="unknown preset 'rnn'; the nearest is 'rnnsearch'"):
        call("cost", "--preset", "rnn")
