"""Loss and accuracy of classes: of sentences, pairs, phrases or transitions. The label −1 stands for none."""

import keras
import tensorflow as tf

from tfnmt.training.losses import word_losses


def classification_loss(labels: tf.Tensor, logits: tf.Tensor, label_smoothing: float = 0.0) -> tf.Tensor:
    """The cross-entropy −(1/N) Σ log p(label) over the N labels.

    Args:
        labels: int32 [...], −1 for none.
        logits: float [..., classes].
        label_smoothing: see `MaskedCrossEntropy`.

    Returns:
        A scalar; 0 where there are no labels.
    """
    log_p = log_likelihoods(labels, logits, label_smoothing)
    return tf.math.divide_no_nan(-tf.reduce_sum(log_p), tf.cast(number_of_labels(labels), log_p.dtype))


def log_likelihoods(labels: tf.Tensor, logits: tf.Tensor, label_smoothing: float = 0.0) -> tf.Tensor:
    """log p(label), float [...], 0 where there is no label; arguments as for `classification_loss`."""
    has_label = tf.cast(labels >= 0, tf.float32)
    return -word_losses(tf.maximum(labels, 0), logits, label_smoothing) * has_label


def number_of_labels(labels: tf.Tensor) -> tf.Tensor:
    """How many labels are not −1; an int64 scalar."""
    return tf.math.count_nonzero(labels >= 0)


def transition_labels(transitions: tf.Tensor) -> tf.Tensor:
    """Transitions as labels of the two transition logits: 0 for SHIFT, 1 for REDUCE, −1 for padding; same shape."""
    return transitions - 1


def update_accuracy(metric: keras.metrics.Mean, labels: tf.Tensor, logits: tf.Tensor) -> None:
    """Update the mean by whether each label is the most probable class; arguments as for `classification_loss`. All
    labels count the same, in whichever batch they are, and however much padding it has."""
    # `==` in place of tf.equal would not know its rank in a graph, for it takes any two shapes.
    correct = tf.cast(tf.equal(tf.argmax(logits, axis=-1, output_type=labels.dtype), labels), tf.float32)
    # Flat, for of a matrix Keras takes the mean of each row first, padding included.
    weights = tf.cast(labels >= 0, tf.float32)
    metric.update_state(tf.reshape(correct, [-1]), sample_weight=tf.reshape(weights, [-1]))
