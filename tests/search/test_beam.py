"""Beam search against all sequences that there are, of small random models."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.search.beam import NEVER, beam_search
from tfnmt.search.greedy import greedy_search

END, START, VOCABULARY = 0, 1, 4
SENTENCES = 3


def random_tables(seed, words=VOCABULARY, sharpness=1.0):
    """log p(next word | sentence, word before the last, last word), so that a search must carry its states along."""
    e = sharpness * np.random.default_rng(seed).normal(size=[SENTENCES, words, words, words])
    return np.log(np.exp(e) / np.exp(e).sum(axis=-1, keepdims=True)).astype(np.float32)


def step_with(tables):
    def step(ids, states):
        sentence, before = states
        return tf.gather_nd(tf.constant(tables), tf.stack([sentence, before, ids], axis=1)), (sentence, ids)

    return step


def states_of(sentences):
    return tf.constant(sentences, tf.int32), tf.fill([len(sentences)], START)


def search(tables, maximum_lengths, beam_size, length_penalty, sentences=None):
    sentences = list(range(len(maximum_lengths))) if sentences is None else sentences
    lengths = tf.constant(maximum_lengths, tf.int32)
    found = beam_search(step_with(tables), states_of(sentences), START, END, lengths, beam_size, length_penalty)
    return [x.numpy() for x in found]


def score(table, words, maximum_length, length_penalty):
    """What a result's score is to be. At the maximum length it ends without END, which counts in its length alone."""
    written = [*words, END] if len(words) < maximum_length else words
    log_p, before, last = 0.0, START, START
    for word in written:
        log_p += table[before, last, word]
        before, last = last, word
    return log_p / (len(words) + 1) ** length_penalty


def all_results(table, maximum_length, length_penalty):
    """(score, words) of every sequence, best first."""
    others = [word for word in range(VOCABULARY) if word != END]
    sequences = [s for n in range(maximum_length + 1) for s in itertools.product(others, repeat=n)]
    return sorted(((score(table, s, maximum_length, length_penalty), s) for s in sequences), reverse=True)


def padded(words, length):
    return [*words, *[0] * (length - len(words))]


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_a_beam_as_wide_as_the_space_finds_the_best_of_all(length_penalty):
    tables, lengths, beam_size = random_tables(1), [3, 2, 3], 27
    ids, scores = search(tables, lengths, beam_size, length_penalty)
    for n, length in enumerate(lengths):
        best = all_results(tables[n], length, length_penalty)[:beam_size]
        np.testing.assert_allclose(scores[n, : len(best)], [s for s, _ in best], rtol=1e-5)
        assert ids[n, : len(best)].tolist() == [padded(words, ids.shape[2]) for _, words in best]
        assert (scores[n, len(best) :] == NEVER).all()


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_stopping_early_loses_nothing(length_penalty):
    """Where END is likely most results are short, and the search may stop before the longest."""
    tables = random_tables(2, sharpness=3.0)
    ids, scores = search(tables, [4, 4, 4], 81, length_penalty)
    for n in range(SENTENCES):
        best_score, best = all_results(tables[n], 4, length_penalty)[0]
        np.testing.assert_allclose(scores[n, 0], best_score, rtol=1e-5)
        assert ids[n, 0].tolist() == padded(best, ids.shape[2])


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_scores_are_those_of_the_results(length_penalty):
    tables, lengths = random_tables(3), [6, 3, 1]
    ids, scores = search(tables, lengths, 3, length_penalty)
    assert (np.diff(scores, axis=1) <= 0).all()
    for n, length in enumerate(lengths):
        found = [[int(word) for word in row if word != END] for row in ids[n]]
        assert len({tuple(words) for words in found}) == 3
        expected = [score(tables[n], words, length, length_penalty) for words in found]
        np.testing.assert_allclose(scores[n], expected, rtol=1e-5)


def test_a_longer_result_wins_by_the_length_penalty():
    """END at once has p = 0.4; three words and END have 0.6 · 0.8³ = 0.31, but 0.75 each."""
    p = np.array([[0.4, 0.6, 0, 0, 0], [0.1, 0.1, 0.8, 0, 0], [0, 0.1, 0.1, 0.8, 0], [0.8, 0, 0.1, 0.1, 0]])
    table = tf.constant(np.log(np.maximum(p, 1e-9)), tf.float32)
    best = {}
    for length_penalty in (0.0, 1.0):
        # Word 4 is START, and stands in the first row.
        ids, _ = beam_search(
            lambda ids, states: (tf.gather(table, ids % 4), states),
            (),
            4,
            END,
            tf.constant([9]),
            2,
            length_penalty,
        )
        best[length_penalty] = [word for word in ids[0, 0].numpy().tolist() if word]
    assert best == {0.0: [], 1.0: [1, 2, 3]}


def test_maximum_length_of_each_sentence():
    tables = random_tables(4)
    tables[..., END] = -20.0
    ids, scores = search(tables, [5, 0, 2], 3, 1.0)
    assert [(row != 0).sum() for row in ids[:, 0]] == [5, 0, 2]
    assert scores[1].tolist() == [0, NEVER, NEVER]
    assert not ids[1].any()


def test_all_maximum_lengths_zero():
    ids, scores = search(random_tables(4), [0, 0, 0], 2, 1.0)
    assert not ids.any()
    assert scores.tolist() == [[0, NEVER]] * 3


@pytest.mark.parametrize("impossible", [-50.0, -np.inf])
def test_an_end_that_is_never_probable(impossible):
    tables = random_tables(5)
    tables[..., END] = impossible
    ids, scores = search(tables, [4, 3, 2], 2, 1.0)
    assert [(row != 0).sum() for row in ids[:, 0]] == [4, 3, 2]
    assert (scores > -5).all()


def test_a_beam_wider_than_the_vocabulary():
    """Of one word or none there are four results, and no more are made up."""
    tables = random_tables(6)
    ids, scores = search(tables, [1, 1, 3], 10, 1.0)
    for n in (0, 1):
        best = all_results(tables[n], 1, 1.0)
        np.testing.assert_allclose(scores[n, :4], [s for s, _ in best], rtol=1e-5)
        assert [row[0] for row in ids[n, :4]] == [words[0] if words else 0 for _, words in best]
        assert (scores[n, 4:] == NEVER).all()
        assert not ids[n, 4:].any()


def test_a_sentence_alone_and_among_others_in_any_order():
    tables, lengths = random_tables(7), np.array([6, 2, 4], np.int32)
    ids, scores = search(tables, lengths, 3, 0.6)
    turned_ids, turned_scores = search(tables, lengths[::-1], 3, 0.6, sentences=[2, 1, 0])
    for n in range(SENTENCES):
        alone_ids, alone_scores = search(tables, lengths[n : n + 1], 3, 0.6, sentences=[n])
        for other_ids, other_scores in ((turned_ids[2 - n], turned_scores[2 - n]), (alone_ids[0], alone_scores[0])):
            np.testing.assert_array_equal(other_scores, scores[n])
            width = min(other_ids.shape[-1], ids.shape[-1])
            np.testing.assert_array_equal(other_ids[:, :width], ids[n, :, :width])
            assert not other_ids[:, width:].any()
            assert not ids[n, :, width:].any()


def greedy(tables, lengths):
    ids, scores = greedy_search(step_with(tables), states_of([0, 1, 2]), START, END, tf.constant(lengths))
    return ids.numpy(), scores.numpy()


def test_a_beam_of_one_is_greedy_where_one_word_is_far_more_probable_than_the_rest():
    tables, lengths = random_tables(8, sharpness=20.0), [6, 4, 5]
    ids, scores = search(tables, lengths, 1, 0.0)
    greedy_ids, greedy_scores = greedy(tables, lengths)
    for beam, row in zip(ids[:, 0], greedy_ids, strict=True):
        assert [word for word in beam if word] == [word for word in row if word]
    np.testing.assert_allclose(scores[:, 0], greedy_scores, rtol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_never_worse_than_greedy(seed):
    """It may be better: it also considers to end where another word is more probable than END."""
    tables, lengths = random_tables(seed), [6, 4, 5]
    _, scores = search(tables, lengths, 1, 0.0)
    assert (scores[:, 0] >= greedy(tables, lengths)[1] - 1e-5).all()


def test_a_graph_for_batches_of_any_size_equals_eager_mode():
    tables = random_tables(9)

    def run(sentences, lengths):
        states = (sentences, tf.fill([tf.size(sentences)], START))
        return beam_search(step_with(tables), states, START, END, lengths, 3, 1.0)

    unknown = tf.TensorSpec([None], tf.int32)
    graph = tf.function(run, input_signature=[unknown, unknown], autograph=False)
    for sentences, lengths in (([1], [4]), ([0, 1, 2], [3, 0, 5]), ([], [])):
        found = graph(tf.constant(sentences, tf.int32), tf.constant(lengths, tf.int32))
        expected = search(tables, lengths, 3, 1.0, sentences)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5)
