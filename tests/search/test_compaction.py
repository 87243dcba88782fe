"""Sentences that are finished leave a search, and nobody else is mixed up by it."""

import numpy as np
import pytest
import tensorflow as tf

from tests.search.fake_models import END, START, FakeModel, check_same, in_numpy
from tfnmt.search.beam import BeamConfiguration, beam_search
from tfnmt.search.compaction import ONE_IN, in_batch, leave, rows_of, updated
from tfnmt.search.greedy import SampleConfiguration, greedy_search, sample


def test_who_stays():
    numbers = tf.constant([1, 4, 5])
    rows = tf.constant([[10, 11], [12, 13], [40, 41], [42, 43], [50, 51], [52, 53]])
    kept = leave(tf.constant([False, True, False]), numbers, 2, {"live": tf.constant([0.1, 0.4, 0.5])}, (rows, ()))
    numbers, of_sentences, (of_rows, nothing) = kept
    np.testing.assert_array_equal(numbers, [1, 5])
    np.testing.assert_array_equal(of_sentences["live"], np.float32([0.1, 0.5]))
    np.testing.assert_array_equal(of_rows, [[10, 11], [12, 13], [50, 51], [52, 53]])
    assert nothing == ()
    np.testing.assert_array_equal(rows_of(numbers, 2), [[2, 3], [10, 11]])


@pytest.mark.parametrize(("finished", "staying"), [(0, 24), (2, 24), (3, 21), (24, 0)])
def test_few_do_not_leave_alone(finished, staying):
    assert ONE_IN == 8
    numbers, _, of_rows = leave(tf.range(24) < finished, tf.range(24), 1, (), tf.range(24))
    np.testing.assert_array_equal(numbers, range(24 - staying, 24))
    np.testing.assert_array_equal(of_rows, range(24 - staying, 24))


def test_nobody_leaves_an_empty_batch():
    none = tf.zeros([0], tf.int32)
    numbers, (), (rows,) = leave(none > 0, none, 3, (), (tf.zeros([0, 2]),))
    assert numbers.shape == (0,)
    assert rows.shape == (0, 2)


def test_places_in_the_batch():
    np.testing.assert_array_equal(in_batch(tf.constant([[7], [8]]), tf.constant([3, 1]), 4), [[0], [8], [0], [7]])
    whole = updated({"x": tf.constant([1, 2, 3])}, tf.constant([2, 0]), {"x": tf.constant([30, 10])})
    np.testing.assert_array_equal(whole["x"], [10, 2, 30])


SEARCHES = {
    "greedy": lambda *inputs: greedy_search(*inputs),
    "sample": lambda *inputs: sample(*inputs, SampleConfiguration(), 1, keys=inputs[2]),
    "beam": lambda *inputs: beam_search(*inputs, BeamConfiguration(beam_size=3)),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_computes_ever_fewer_rows(name):
    """Results are those of each sentence alone, and no more rows are computed than those of who still writes."""
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
    model.check_notes(found, order)
    for place, sentence in enumerate(order):
        alone = search([sentence], model.step)
        check_same(tf.nest.map_structure(lambda x, place=place: x[[place]], found), alone, [0], rtol=1e-5)
    k = 3 if name == "beam" else 1
    writing = [k * sum(length > i for length in lengths) for i in range(23)]
    of_steps = counts[1:]  # the first asks for the notes' shapes
    extra = len(of_steps) - len(writing)  # a beam that may write no more still has a step, in which all end
    assert extra == (1 if name == "beam" else 0)
    assert all(n <= k * 12 for n in of_steps)
    late = of_steps[extra:]
    assert all(n < 8 / 7 * m + k for n, m in zip(late, writing, strict=True))
    assert sum(of_steps) < 0.7 * len(of_steps) * k * 12
