"""Batch compaction: finished sentences are removed from the batch of a search, which changes no other sentence."""

import numpy as np
import pytest
import tensorflow as tf

from tests.search.fake_models import END, START, FakeModel, check_same, in_numpy
from tfnmt.search.beam import beam_search
from tfnmt.search.compaction import remove_finished, rows_of, scatter_rows, update_sentences
from tfnmt.search.configuration import BeamConfiguration, SampleConfiguration
from tfnmt.search.greedy import greedy_search
from tfnmt.search.sampling import sample


def test_what_is_left_of_each_sentence_and_row():
    indices = tf.constant([1, 4, 5])
    rows = tf.constant([[10, 11], [12, 13], [40, 41], [42, 43], [50, 51], [52, 53]])
    log_p = {"log_p": tf.constant([0.1, 0.4, 0.5])}
    indices, by_sentence, (by_row, empty) = remove_finished(
        tf.constant([False, True, False]), indices, 2, log_p, (rows, ())
    )
    np.testing.assert_array_equal(indices, [1, 5])
    np.testing.assert_array_equal(by_sentence["log_p"], np.float32([0.1, 0.5]))
    np.testing.assert_array_equal(by_row, [[10, 11], [12, 13], [50, 51], [52, 53]])
    assert empty == ()
    np.testing.assert_array_equal(rows_of(indices, 2), [[2, 3], [10, 11]])


@pytest.mark.parametrize("active", [1, 7, 24])
def test_only_finished_sentences_are_removed_and_few_remain(active):
    """Either all or none are removed: none where the copies would cost more than they save."""
    for count in range(active + 1):
        finished = np.random.default_rng(count).permutation(active) < count
        indices, _, by_row = remove_finished(tf.constant(finished), tf.range(active), 1, (), tf.range(active))
        np.testing.assert_array_equal(by_row, indices)
        kept = np.isin(range(active), indices)
        assert kept[~finished].all()
        assert not kept[finished].any() or (kept.all() and count < active / 4)


def test_an_empty_batch_has_nothing_to_remove():
    none = tf.zeros([0], tf.int32)
    indices, (), (rows,) = remove_finished(none > 0, none, 3, (), (tf.zeros([0, 2]),))
    assert indices.shape == (0,)
    assert rows.shape == (0, 2)


def test_places_in_the_whole_batch():
    scattered = scatter_rows(tf.constant([[7], [8]]), tf.constant([3, 1]), 4)
    np.testing.assert_array_equal(scattered, [[0], [8], [0], [7]])
    whole = update_sentences({"x": tf.constant([1, 2, 3])}, tf.constant([2, 0]), {"x": tf.constant([30, 10])})
    np.testing.assert_array_equal(whole["x"], [10, 2, 30])


SEARCHES = {
    "greedy": lambda *inputs: greedy_search(*inputs),
    "sample": lambda *inputs: sample(*inputs, SampleConfiguration(), 1, keys=inputs[2]),
    "beam": lambda *inputs: beam_search(*inputs, BeamConfiguration(beam_size=3)),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_computes_ever_fewer_rows(name):
    """Results are those of each sentence alone, and few rows are computed for sentences that are finished."""
    model, lengths = FakeModel(3, sentences=12), [1 + 2 * n for n in range(12)]
    model.log_p[..., END] = -50.0  # so that all results are as long as they may be
    counts = []

    def step(ids, states, memory):
        counts.append(int(tf.size(ids)))
        return model.step(ids, states, memory)

    def search(sentences, step):
        memory = model.memory(sentences)
        limits = tf.gather(tf.constant(lengths), memory)
        return in_numpy(SEARCHES[name](step, model.states(sentences), memory, START, END, limits))

    order = np.random.default_rng(1).permutation(12)
    found = search(order, step)
    model.check_auxiliary(found, order)
    for place, sentence in enumerate(order):
        alone = search([sentence], model.step)
        check_same(tf.nest.map_structure(lambda x, place=place: x[[place]], found), alone, [0], rtol=1e-5)
    k = 3 if name == "beam" else 1
    unfinished = [k * sum(length > i for length in lengths) for i in range(23)]
    of_steps = counts[1:]  # the first asks for the auxiliary' shapes
    extra = len(of_steps) - len(unfinished)  # a beam that may write no more still has a step, in which all end
    assert extra == (1 if name == "beam" else 0)
    assert all(n <= k * 12 for n in of_steps)
    late = of_steps[extra:]
    assert all(n < 8 / 7 * m + k for n, m in zip(late, unfinished, strict=True))
    assert sum(of_steps) < 0.7 * len(of_steps) * k * 12
