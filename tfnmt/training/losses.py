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

    def __call__(self, labels, logits, sample_weight=None):
        """As `call`. Keras would turn the labels into floats before; padding is known without `sample_weight`."""
        return self.call(labels, logits)

    def call(self, labels, logits):
        """Integers [batch, length] and logits e(k) [batch, length, vocabulary_size] → a scalar."""
        mask = tf.cast(labels != 0, tf.float32)
        losses = smoothed_word_losses(labels, logits, self.label_smoothing)
        return tf.math.divide_no_nan(tf.reduce_sum(losses * mask), tf.reduce_sum(mask))

    def get_config(self):
        return {"label_smoothing": self.label_smoothing, "name": self.name}


def word_losses(labels, logits):
    """−log p(label) of each place: [batch, length] and [batch, length, vocabulary_size] → [batch, length]."""
    e = _flat(logits)
    _, log_normalizers = _softmax(e)
    return tf.reshape(log_normalizers - tf.gather_nd(e, _at(labels)), tf.shape(labels))


def smoothed_word_losses(labels, logits, label_smoothing):
    """Cross-entropy of each place against (1 − ε) of the label and ε of all K words alike: [batch, length].

    It is −log p(label) + ε (e(label) − mean e(k)). The gradient by e is softmax(e) − (1 − ε) 1_label − ε/K, written out
    here since the logits are by far the largest tensor of a training step, and each pass over them counts.
    """
    e, places = _flat(logits), _at(labels)
    p, log_normalizers = _softmax(e)

    @tf.custom_gradient
    def losses(e):
        def gradient(d):
            de = p * d[:, tf.newaxis]
            if label_smoothing:
                de -= (label_smoothing / tf.cast(tf.shape(e)[-1], e.dtype) * d)[:, tf.newaxis]
            return tf.tensor_scatter_nd_sub(de, places, (1 - label_smoothing) * d)

        e_label = tf.gather_nd(e, places)
        nll = log_normalizers - e_label
        return nll + label_smoothing * (e_label - tf.reduce_mean(e, axis=-1)) if label_smoothing else nll, gradient

    return tf.reshape(losses(e), tf.shape(labels))


def _softmax(e):
    """softmax(e) of each row, and its log-normalizer log Σ_k exp(e(k)): [rows, classes] and [rows].

    Where p is largest, the normalizer is e − log p. Made so, both together take a quarter of the time of TensorFlow's
    cross-entropy on a CPU; and what loss and metrics both ask for, a training step computes once.
    """
    p = tf.nn.softmax(e)
    return p, tf.reduce_max(e, axis=-1) - tf.math.log(tf.reduce_max(p, axis=-1))


def _flat(logits):
    """[batch, length, vocabulary_size] → float32 [places, vocabulary_size]."""
    return tf.reshape(tf.cast(logits, tf.float32), [-1, tf.shape(logits)[-1]])


def _at(labels):
    """Where labels of any shape stand in flat logits, for `tf.gather_nd`: int32 [places, 2]."""
    return tf.stack([tf.range(tf.size(labels)), tf.reshape(tf.cast(labels, tf.int32), [-1])], axis=1)
