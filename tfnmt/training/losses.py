"""The loss of sequence models: masked cross-entropy, the mean over real target words or over sentences."""

from typing import Any, Literal

import keras
import tensorflow as tf

from tfnmt.configuration import require


@keras.saving.register_keras_serializable("tfnmt")
class MaskedCrossEntropy(keras.losses.Loss):
    """−(1/N) Σ log p(label) over all labels that are not padding (0); N is the number of these labels, or of sentences.

    With `mean="sentences"` it is the post's log-likelihood (1/N) Σ_n log P(Yⁿ | Xⁿ) with the sign changed (Cho 2015,
    part 2): long sentences count more. With `mean="words"` all words count the same.

    Args:
        mean: what N counts: "words" or "sentences" (those with a label).
        label_smoothing: ε; the target is (1 − ε) of the label and ε of all words alike (Szegedy et al. 2016,
            section 7).

    Raises:
        UserError: an argument is none of these.
    """

    def __init__(self, label_smoothing: float = 0.0, mean: Literal["words", "sentences"] = "words", name: str = "loss"):
        require(0 <= label_smoothing < 1, "label_smoothing", label_smoothing, "0 <= label_smoothing < 1")
        require(mean in ("words", "sentences"), "mean", mean, "words or sentences")
        super().__init__(name=name, reduction=None)
        self.label_smoothing = label_smoothing
        self.mean = mean

    def __call__(self, labels: tf.Tensor, logits: tf.Tensor, sample_weight: None = None) -> tf.Tensor:
        """As `call`. (Keras's would turn the labels into floats.)

        Raises:
            ValueError: there are weights, or labels and logits are of different shapes.
        """
        refuse_weights(sample_weight)
        return self.call(labels, logits)

    def call(self, labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Integers [batch, length] and logits e(k) [batch, length, vocabulary_size] → a scalar."""
        mask = tf.cast(labels != 0, tf.float32)
        losses = word_losses(labels, logits, self.label_smoothing)
        return tf.math.divide_no_nan(tf.reduce_sum(losses * mask), tf.cast(self.count(labels), tf.float32))

    def count(self, labels: tf.Tensor) -> tf.Tensor:
        """N, an int64 scalar, of integers [batch, length]."""
        real = labels != 0
        return tf.math.count_nonzero(tf.reduce_any(real, axis=1) if self.mean == "sentences" else real)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        return {"label_smoothing": self.label_smoothing, "mean": self.mean, "name": self.name}


def refuse_weights(sample_weight: Any) -> None:
    """Raise `ValueError` if there are any: which words count is known from the padding."""
    if sample_weight is not None:
        raise ValueError("sample_weight is not taken: every word counts, but for padding (0)")


def word_losses(labels: tf.Tensor, logits: tf.Tensor, label_smoothing: float = 0.0) -> tf.Tensor:
    """Cross-entropy at each position against (1 − ε) of the label and ε of all K words alike: [batch, length].

    It is −log p(label) + ε (e(label) − mean e(k)). The gradient by e is softmax(e) − (1 − ε) 1_label − ε/K, written out
    here since the logits are by far the largest tensor of a training step, and each pass over them counts.

    Raises:
        ValueError: the shapes are known, and differ.
    """
    tf.TensorShape(logits.shape[:-1]).assert_is_compatible_with(labels.shape)
    e, indices = _flat(logits), _label_indices(labels)
    p, log_normalizers = _softmax_and_normalizers(e)

    @tf.custom_gradient
    def losses(e):
        def gradient(d):
            de = p * d[:, tf.newaxis]
            if label_smoothing:
                de -= (label_smoothing / tf.cast(tf.shape(e)[-1], e.dtype) * d)[:, tf.newaxis]
            return tf.tensor_scatter_nd_sub(de, indices, (1 - label_smoothing) * d)

        e_label = tf.gather_nd(e, indices)
        nll = log_normalizers - e_label
        return nll + label_smoothing * (e_label - tf.reduce_mean(e, axis=-1)) if label_smoothing else nll, gradient

    return tf.reshape(losses(e), tf.shape(labels))


def symmetric_divergences(logits: tf.Tensor, other_logits: tf.Tensor) -> tf.Tensor:
    """KL(p‖q) + KL(q‖p) of two predictions p = softmax(e) and q = softmax(f) of each word: float32 [batch, length].

    It is Σ_k (p(k) − q(k)) (log p(k) − log q(k)), and so Σ_k (p(k) − q(k)) (e(k) − f(k)): what normalises e and f is
    the same for all k, over which p − q is 0 in sum. With it R-Drop (Liang et al. 2021, arXiv:2106.14448) compares
    what a model expects with one dropout and with another.

    Args:
        logits, other_logits: e(k) and f(k), [batch, length, vocabulary_size].
    """
    e, f = _flat(logits), _flat(other_logits)
    return tf.reshape(tf.reduce_sum((tf.nn.softmax(e) - tf.nn.softmax(f)) * (e - f), axis=1), tf.shape(logits)[:-1])


def _softmax_and_normalizers(e):
    """softmax(e) of each row, and its log-normalizer log Σ_k exp(e(k)): [rows, classes] and [rows].

    At the largest p, the normalizer is e − log p. Computed like this, both take a quarter of the time of TensorFlow's
    cross-entropy on a CPU, and a training step computes what loss and metrics share once.
    """
    p = tf.nn.softmax(e)
    return p, tf.reduce_max(e, axis=-1) - tf.math.log(tf.reduce_max(p, axis=-1))


def _flat(logits):
    """[batch, length, vocabulary_size] → float32 [positions, vocabulary_size]."""
    return tf.reshape(tf.cast(logits, tf.float32), [-1, tf.shape(logits)[-1]])


def _label_indices(labels):
    """The indices of labels of any shape in flat logits, for `tf.gather_nd`: int32 [positions, 2]."""
    return tf.stack([tf.range(tf.size(labels)), tf.reshape(tf.cast(labels, tf.int32), [-1])], axis=1)
