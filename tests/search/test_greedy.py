"""Greedy search over small made-up models whose best results are known."""

import numpy as np
import tensorflow as tf

from tfnmt.search.greedy import greedy_search

END, START, A, VOCABULARY = 0, 1, 2, 8  # words 2 … 7 are the letters a … f
STATES = (tf.zeros([3, 1]),)


def alphabet(probability=0.9):
    """A model that writes the alphabet: after each letter the next one, after the last one END."""
    after = np.array([END, A, *range(A + 1, VOCABULARY), END])
    p = np.full([VOCABULARY, VOCABULARY], (1 - probability) / (VOCABULARY - 1))
    p[np.arange(VOCABULARY), after] = probability
    return lambda ids, states: (tf.gather(tf.constant(np.log(p), tf.float32), ids), states)


def search(maximum_lengths, step=None):
    states = (tf.zeros([len(maximum_lengths), 1]),)
    ids, scores = greedy_search(step or alphabet(), states, START, END, tf.constant(maximum_lengths, tf.int32))
    return ids.numpy().tolist(), scores.numpy()


def test_writes_the_alphabet():
    ids, scores = search([9])
    assert ids == [[2, 3, 4, 5, 6, 7, END]]
    np.testing.assert_allclose(scores, [7 * np.log(0.9)], rtol=1e-5)


def test_maximum_length_of_each_sentence():
    ids, scores = search([4, 2, 1, 0])
    assert ids == [[2, 3, 4, 5], [2, 3, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(scores, np.log(0.9) * np.array([4, 2, 1, 0]), rtol=1e-5)


def test_stops_when_all_have_ended():
    assert len(search([1000])[0][0]) == 7


def test_a_maximum_length_of_zero():
    for run in (greedy_search, tf.function(greedy_search, autograph=False)):
        ids, scores = run(alphabet(), STATES, START, END, tf.zeros([3], tf.int32))
        assert not ids.numpy().any()
        np.testing.assert_array_equal(scores, [0, 0, 0])


def test_no_word_counts_after_the_end():
    """The first sentence ends at once, the second goes on: nothing is added to the first."""
    p = np.full([2, VOCABULARY, VOCABULARY], 0.01)
    p[0, :, END] = 0.93
    p[1, :, A] = 0.93
    table = tf.constant(np.log(p), tf.float32)

    def step(ids, states):
        return tf.gather_nd(table, tf.stack([states[0], ids], axis=1)), states

    ids, scores = greedy_search(step, (tf.range(2),), START, END, tf.constant([3, 3]))
    assert ids.numpy().tolist() == [[END, 0, 0], [A, A, A]]
    np.testing.assert_allclose(scores, np.log(0.93) * np.array([1, 3]), rtol=1e-5)


def test_states_go_from_step_to_step():
    """A model that counts: it writes as many letters as its state says, whatever they are."""

    def step(ids, states):
        (left,) = states
        next_word = tf.where(left > 0, A, END)
        return tf.math.log(tf.one_hot(next_word, VOCABULARY, 0.9, 0.1 / 7)), (left - 1,)

    ids, _ = greedy_search(step, (tf.constant([3, 0, 1]),), START, END, tf.constant([9, 9, 9]))
    assert ids.numpy().tolist() == [[A, A, A, END], [END, 0, 0, 0], [A, END, 0, 0]]


def test_a_graph_for_batches_of_any_size_equals_eager_mode():
    graph = tf.function(
        lambda lengths: greedy_search(alphabet(), (tf.zeros([tf.shape(lengths)[0], 1]),), START, END, lengths),
        input_signature=[tf.TensorSpec([None], tf.int32)],
        autograph=False,
    )
    for lengths in ([5], [3, 9], [0, 0, 0], []):
        ids, scores = graph(tf.constant(lengths, tf.int32))
        expected_ids, expected_scores = search(lengths)
        assert ids.numpy().tolist() == expected_ids
        np.testing.assert_array_equal(scores, expected_scores)
