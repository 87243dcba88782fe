"""Greedy search over small models whose results are known."""

import numpy as np
import pytest
import tensorflow as tf

from tests.search.fake_models import END, START, FakeModel, in_numpy, words_of
from tfnmt.search.greedy import greedy_search
from tfnmt.search.step import NEG_INF

A, F = 3, 8  # words 3 … 8 are the letters a … f


def greedy(model, maximum_lengths, sentences=None):
    sentences = range(len(maximum_lengths)) if sentences is None else sentences
    lengths = tf.constant(maximum_lengths, tf.int32)
    found = in_numpy(greedy_search(model.step, model.states(sentences), model.memory(sentences), START, END, lengths))
    model.check_auxiliary(found, sentences)
    return found


def alphabet(ids, states, memory):
    """A model that writes the alphabet: after each letter the next one with p = 0.9, after the last one END."""
    p = np.full([F + 1, F + 1], 0.1 / F)
    p[range(F + 1), [END, A, END, *range(A + 1, F + 1), END]] = 0.9
    return tf.gather(tf.constant(np.log(p), tf.float32), ids), states, ()


def test_the_alphabet():
    found = in_numpy(greedy_search(alphabet, (), (), START, END, tf.constant([9, 6, 4, 1, 0, 1000])))
    assert [words_of(found, n) for n in range(6)] == [tuple(range(A, A + n)) for n in (6, 6, 4, 1, 0, 6)]
    # Six letters of six at most end without END.
    np.testing.assert_allclose(found.scores[:, 0], np.log(0.9) * np.array([7, 6, 4, 1, 0, 7]), rtol=1e-5)
    np.testing.assert_array_equal(found.scores, found.log_probabilities)
    assert found.auxiliary == ()


def test_the_most_probable_words_of_a_random_model():
    lengths = [6, 3, 1, 0] * 3
    model = FakeModel(1, sentences=len(lengths))
    found = greedy(model, lengths)
    for sentence, length in enumerate(lengths):
        words = []
        while len(words) < length and (word := model.log_p[sentence, model.path(words)].argmax()) != END:
            words.append(int(word))
        assert words_of(found, sentence) == tuple(words)
        expected = model.of_words(sentence, words, length)[0].sum()
        np.testing.assert_allclose(found.log_probabilities[sentence, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("impossible", [-50.0, NEG_INF, -np.inf])
def test_an_end_that_never_comes(impossible):
    model = FakeModel(2)
    model.log_p[..., END] = impossible
    found = greedy(model, [50, 0, 2])
    assert found.lengths[:, 0].tolist() == [50, 0, 2]
    assert (found.scores > -100).all()
