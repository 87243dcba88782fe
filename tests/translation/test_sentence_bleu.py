"""BLEU of single sentences in the graph is sacrebleu's."""

import random

import numpy as np
import pytest
import sacrebleu
import tensorflow as tf

from tfnmt.translation.sentence_bleu import sentence_bleu


def padded(sentences, more=0):
    return tf.pad(tf.ragged.constant(sentences, tf.int64).to_tensor(0), [[0, 0], [0, more]])


def drawn_pairs():
    """Pairs with few words, so that many n-grams are repeated; half of the hypotheses begin as their reference."""
    draw = random.Random(1)
    for number in range(200):
        reference = [draw.randint(1, 5) for _ in range(draw.randint(1, 12))]
        other = [draw.randint(1, 5) for _ in range(draw.randint(1, 12))]
        yield (other if number % 2 else reference[: draw.randint(1, 12)] + other[:3]), reference


@pytest.mark.parametrize("more", [0, 3])
def test_it_is_that_of_sacrebleu_whatever_the_padding(more):
    hypotheses, references = zip(*drawn_pairs(), strict=True)
    metric = sacrebleu.BLEU(smooth_method="add-k", smooth_value=1, tokenize="none", effective_order=False)
    texts = [[" ".join(map(str, words)) for words in side] for side in (hypotheses, references)]
    expected = [metric.sentence_score(h, [r]).score / 100 for h, r in zip(*texts, strict=True)]
    np.testing.assert_allclose(sentence_bleu(padded(hypotheses, more), padded(references)), expected, atol=1e-6)


def test_by_hand():
    """1 1 2 beside 1 2 3: two of three words, the second 1 is one too many, (1 + 1)/(2 + 1) pairs, (0 + 1)/(1 + 1)
    triples, and (0 + 1)/(0 + 1) of four."""
    (bleu,) = sentence_bleu(padded([[1, 1, 2]]), padded([[1, 2, 3]])).numpy()
    assert bleu == pytest.approx((2 / 3 * 2 / 3 * 1 / 2 * 1) ** 0.25, rel=1e-5)


def test_nothing_is_worth_nothing():
    empty, something = tf.zeros([2, 0], tf.int64), padded([[1], [2]])
    for hypotheses, references in [(empty, something), (something, empty), (tf.zeros_like(something), something)]:
        np.testing.assert_array_equal(sentence_bleu(hypotheses, references), [0, 0])
