"""Loss and accuracy of classes by hand; what has no label does not count."""

import keras
import numpy as np
import tensorflow as tf

from tfnmt.classification.losses import (
    classification_loss,
    log_likelihoods,
    number_of_labels,
    transition_labels,
    update_accuracy,
)
from tfnmt.text.brackets import PAD, REDUCE, SHIFT

LABELS = tf.constant([[0, 1, -1], [1, -1, -1]])
P = np.array([[[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], [[0.75, 0.25], [0.5, 0.5], [0.5, 0.5]]])
LOGITS = tf.constant(np.log(P), tf.float32)


def test_the_mean_over_what_has_a_label():
    expected = -(np.log(0.5) + np.log(0.8) + np.log(0.25)) / 3
    np.testing.assert_allclose(classification_loss(LABELS, LOGITS), expected, rtol=1e-6)
    np.testing.assert_allclose(classification_loss(-tf.ones([2], tf.int32), LOGITS[:, 0]), 0)


def test_log_likelihoods():
    expected = [[np.log(0.5), np.log(0.8), 0], [np.log(0.25), 0, 0]]
    np.testing.assert_allclose(log_likelihoods(LABELS, LOGITS), expected, rtol=1e-6)


def test_accuracy():
    metric = keras.metrics.Mean()
    update_accuracy(metric, LABELS, tf.one_hot([[0, 0, 0], [1, 1, 1]], 2))
    np.testing.assert_allclose(metric.result(), 2 / 3)


def test_accuracy_counts_each_label_of_batches_of_any_width_once():
    """Keras's mean takes that of each row first, over its padding, too."""
    right, wrong = [0.0, 1.0], [1.0, 0.0]
    for padding in (0, 5):
        metric = keras.metrics.Mean()
        update_accuracy(metric, tf.constant([[1] + [-1] * padding]), tf.constant([[right] * (1 + padding)]))
        update_accuracy(metric, tf.constant([[1] * 9]), tf.constant([[wrong] * 9]))
        np.testing.assert_allclose(metric.result(), 0.1, rtol=1e-6)


def test_transitions_as_labels():
    labels = transition_labels(tf.constant([[SHIFT, SHIFT, REDUCE, PAD]]))
    np.testing.assert_array_equal(labels, [[0, 0, 1, -1]])
    np.testing.assert_array_equal(number_of_labels(labels), 3)
