"""Loss and accuracy of classifications: of sentences, pairs, phrases or transitions; the label −1 stands for none."""

import tensorflow as tf

from tfnmt.training.losses import smoothed_word_losses


def classification_loss(labels, scores, label_smoothing=0.0):
    """−(1/N) Σ log p(label) over the N places that have a label.

    Args:
        labels: int32 [...], −1 where there is none.
        scores: float [..., classes].
        label_smoothing: see `MaskedCrossEntropy`.

    Returns:
        A scalar; 0 where nothing has a label.
    """
    has_label = tf.cast(labels >= 0, tf.float32)
    losses = smoothed_word_losses(tf.maximum(labels, 0), scores, label_smoothing)
    return tf.math.divide_no_nan(tf.reduce_sum(losses * has_label), tf.reduce_sum(has_label))


def log_likelihoods(labels, scores, label_smoothing=0.0):
    """log p(label) at each place, float [...]; arguments as `classification_loss`, 0 where there is no label."""
    has_label = tf.cast(labels >= 0, tf.float32)
    return -smoothed_word_losses(tf.maximum(labels, 0), scores, label_smoothing) * has_label


def update_accuracy(metric, labels, predictions):
    """Count into a `keras.metrics.Mean` how many of the places with a label (not −1) have it predicted."""
    right = tf.cast(tf.equal(labels, tf.cast(predictions, labels.dtype)), tf.float32)
    metric.update_state(right, sample_weight=tf.cast(labels >= 0, tf.float32))
