"""R-Drop's loss against the paper's formula in NumPy, and its gradient against TensorFlow's own."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.training.consistency import ConsistentCrossEntropy, symmetric_divergences, twice
from tfnmt.training.losses import MaskedCrossEntropy

ONCE = np.array([[4, 1, 3, 0], [2, 3, 0, 0]], np.int32)
LABELS = tf.constant(np.concatenate([ONCE, ONCE]))
SCORES = tf.constant(2 * np.random.default_rng(1).normal(size=[4, 4, 5]), tf.float32)


def divergences(scores):
    """½ (KL(P₁ ‖ P₂) + KL(P₂ ‖ P₁)), written as it is defined: [batch, length]."""
    p = tf.nn.softmax(scores)
    first, second = p[:2], p[2:]
    kl = [tf.reduce_sum(a * tf.math.log(a / b), axis=-1) for a, b in ((first, second), (second, first))]
    return 0.5 * (kl[0] + kl[1])


def plain(scores, α, label_smoothing):
    """½ (−log P₁ − log P₂ + α L_KL), the mean over words."""
    mask = tf.cast(ONCE != 0, tf.float32)
    l_kl = tf.reduce_sum(divergences(scores) * mask) / tf.reduce_sum(mask)
    halves = [MaskedCrossEntropy(label_smoothing)(ONCE, half) for half in tf.split(scores, 2)]
    return 0.5 * (halves[0] + halves[1] + α * l_kl)


@pytest.mark.parametrize(("α", "label_smoothing"), [(1.0, 0.0), (5.0, 0.1)])
def test_loss_and_gradient_are_those_of_the_formula(α, label_smoothing):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(SCORES)
        ours = ConsistentCrossEntropy(α, label_smoothing)(LABELS, SCORES)
        expected = plain(SCORES, α, label_smoothing)
    np.testing.assert_allclose(ours, expected, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(ours, SCORES), tape.gradient(expected, SCORES), atol=1e-7)


def test_what_agrees_has_no_divergence():
    same = tf.concat([SCORES[:2], SCORES[:2] + 3.0], axis=0)  # what is added to all scores changes no probability
    np.testing.assert_allclose(symmetric_divergences(same), np.zeros(8), atol=1e-6)
    labels = LABELS
    np.testing.assert_allclose(ConsistentCrossEntropy(4.0, 0.1)(labels, same), MaskedCrossEntropy(0.1)(labels, same))


def test_divergence_of_very_sure_predictions():
    """Of words that one half thinks impossible."""
    scores = tf.constant([[[0.0, -200.0]], [[-200.0, 0.0]]])
    np.testing.assert_allclose(symmetric_divergences(scores), [200.0], rtol=1e-6)


def test_padding_changes_nothing():
    loss = ConsistentCrossEntropy(3.0, 0.1)
    at_padding = tf.where((LABELS == 0)[..., tf.newaxis], 1e3 * SCORES, SCORES)
    np.testing.assert_allclose(loss(LABELS, SCORES), loss(LABELS, at_padding), rtol=1e-6)
    assert loss(tf.zeros_like(LABELS), SCORES) == 0.0


def test_each_row_twice():
    batches = tf.data.Dataset.from_tensors(({"source": [[1, 2], [3, 0]]}, [[4], [5]]))
    ((inputs, labels),) = twice(batches)
    np.testing.assert_array_equal(inputs["source"], [[1, 2], [3, 0], [1, 2], [3, 0]])
    np.testing.assert_array_equal(labels, [[4], [5], [4], [5]])


def test_it_can_be_saved():
    loss = ConsistentCrossEntropy(3.0, 0.1)
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    np.testing.assert_allclose(again(LABELS, SCORES), loss(LABELS, SCORES))
