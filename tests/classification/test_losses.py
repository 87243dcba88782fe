"""Loss and accuracy of classifications by hand; what has no label counts nowhere."""

import keras
import numpy as np
import tensorflow as tf

from tfnmt.classification.losses import classification_loss, log_likelihoods, update_accuracy

LABELS = tf.constant([[0, 1, -1], [1, -1, -1]])
P = np.array([[[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], [[0.75, 0.25], [0.5, 0.5], [0.5, 0.5]]])
SCORES = tf.constant(np.log(P), tf.float32)


def test_the_mean_over_what_has_a_label():
    expected = -(np.log(0.5) + np.log(0.8) + np.log(0.25)) / 3
    np.testing.assert_allclose(classification_loss(LABELS, SCORES), expected, rtol=1e-6)
    np.testing.assert_allclose(classification_loss(-tf.ones([2], tf.int32), SCORES[:, 0]), 0)


def test_log_likelihoods():
    expected = [[np.log(0.5), np.log(0.8), 0], [np.log(0.25), 0, 0]]
    np.testing.assert_allclose(log_likelihoods(LABELS, SCORES), expected, rtol=1e-6)


def test_accuracy():
    metric = keras.metrics.Mean()
    update_accuracy(metric, LABELS, tf.constant([[0, 0, 0], [1, 1, 1]]))
    np.testing.assert_allclose(metric.result(), 2 / 3)
