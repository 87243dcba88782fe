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

    def call(self, labels, scores):
        """Integers [batch, length] and scores e(k) [batch, length, vocabulary_size] → a scalar."""
        mask = tf.cast(labels != 0, tf.float32)
        losses = smoothed_word_losses(labels, scores, self.label_smoothing)
        return tf.math.divide_no_nan(tf.reduce_sum(losses * mask), tf.reduce_sum(mask))

    def get_config(self):
        return {"label_smoothing": self.label_smoothing, "name": self.name}


def word_losses(labels, scores):
    """−log p(label) of each place: [batch, length] and [batch, length, vocabulary_size] → [batch, length]."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(labels, tf.int32), tf.cast(scores, tf.float32))


def smoothed_word_losses(labels, scores, label_smoothing):
    """Cross-entropy of each place against (1 − ε) of the label and ε of all K words alike: [batch, length].

    It is −log p(label) + ε (e(label) − mean e(k)). The gradient by e is softmax(e) − (1 − ε) 1_label − ε/K,
    written out here since the scores are by far the largest tensor of a training step, and each pass over
    them counts.
    """
    labels = tf.reshape(tf.cast(labels, tf.int32), [-1])
    shape = tf.shape(scores)

    @tf.custom_gradient
    def losses(e):
        nll, softmax_minus_label = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=e, labels=labels)
        places = tf.stack([tf.range(tf.size(labels)), labels], axis=1)

        def gradient(d):
            de = (softmax_minus_label - label_smoothing / tf.cast(shape[-1], e.dtype)) * d[:, tf.newaxis]
            return tf.tensor_scatter_nd_add(de, places, label_smoothing * d)

        return nll + label_smoothing * (tf.gather_nd(e, places) - tf.reduce_mean(e, axis=-1)), gradient

    flat = tf.reshape(tf.cast(scores, tf.float32), [-1, shape[-1]])
    return tf.reshape(losses(flat), shape[:-1])
