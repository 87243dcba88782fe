"""The loss of sequence models: masked cross-entropy, the mean over real target words."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable("tfnmt")
class MaskedCrossEntropy(keras.losses.Loss):
    """−(1/N) Σ log p(label) over the N labels that are not padding (0): the seed's log-likelihood, per word.

    Args:
        label_smoothing: ε; the target is (1 − ε) of the label and ε of all words alike (Szegedy et al. 2016,
            section 7).
    """

    def __init__(self, label_smoothing=0.0, name="loss"):
        super().__init__(name=name, reduction=None)
        self.label_smoothing = label_smoothing

    def __call__(self, labels, scores, sample_weight=None):
        """As `call`. Keras would turn the labels into floats before; padding is known without `sample_weight`."""
        return self.call(labels, scores)

    def call(self, labels, scores):
        """Integers [batch, length] and scores e(k) [batch, length, vocabulary_size] → a scalar."""
        mask = tf.cast(labels != 0, tf.float32)
        losses = smoothed_word_losses(labels, scores, self.label_smoothing)
        return tf.math.divide_no_nan(tf.reduce_sum(losses * mask), tf.reduce_sum(mask))

    def get_config(self):
        return {"label_smoothing": self.label_smoothing, "name": self.name}


def word_losses(labels, scores):
    """−log p(label) of each place: [batch, length] and [batch, length, vocabulary_size] → [batch, length]."""
    losses, _ = _cross_entropy(*_flat(labels, scores))
    return tf.reshape(losses, tf.shape(labels))


def smoothed_word_losses(labels, scores, label_smoothing):
    """Cross-entropy of each place against (1 − ε) of the label and ε of all K words alike: [batch, length].

    It is −log p(label) + ε (e(label) − mean e(k)). The gradient by e is softmax(e) − (1 − ε) 1_label − ε/K, written out
    here since the scores are by far the largest tensor of a training step, and each pass over them counts.
    """
    flat_labels, e = _flat(labels, scores)
    nll, softmax_minus_label = _cross_entropy(flat_labels, e)
    places = tf.stack([tf.range(tf.size(flat_labels)), flat_labels], axis=1)

    @tf.custom_gradient
    def losses(e):
        def gradient(d):
            de = (softmax_minus_label - label_smoothing / tf.cast(tf.shape(e)[-1], e.dtype)) * d[:, tf.newaxis]
            return tf.tensor_scatter_nd_add(de, places, label_smoothing * d)

        return nll + label_smoothing * (tf.gather_nd(e, places) - tf.reduce_mean(e, axis=-1)), gradient

    return tf.reshape(losses(e), tf.shape(labels))


def _cross_entropy(labels, e):
    """−log p(label) and softmax(e) − 1_label of each row.

    One operation, the same for the loss and for the metrics: TensorFlow finds it twice in a training step and runs it
    once.
    """
    return tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=e, labels=labels)


def _flat(labels, scores):
    """[batch, length] and [batch, length, vocabulary_size] → int32 [places] and float32 [places, vocabulary_size]."""
    e = tf.reshape(tf.cast(scores, tf.float32), [-1, tf.shape(scores)[-1]])
    return tf.reshape(tf.cast(labels, tf.int32), [-1]), e
