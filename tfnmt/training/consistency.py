"""R-Drop (Liang et al. 2021, arXiv:2106.14448): what dropout leaves of a model is to agree with itself.

Each pair of a batch is read twice, under two dropouts, and the two predictions of every word are drawn together.
"""

import keras
import tensorflow as tf

from tfnmt.training.losses import MaskedCrossEntropy, flat_scores, softmax


def twice(batches):
    """Batches of any structure → the same, each row in them twice: all of them, then all of them again."""
    return batches.map(lambda *batch: tf.nest.map_structure(lambda rows: tf.concat([rows, rows], axis=0), batch))


@keras.saving.register_keras_serializable("tfnmt")
class ConsistentCrossEntropy(MaskedCrossEntropy):
    """½ (L_NLL + α L_KL) of the paper's equation 4, the mean over the words that are not padding.

    L_NLL is both rows' cross-entropy, L_KL = ½ (KL(P₁ ‖ P₂) + KL(P₂ ‖ P₁)) of their predictions.

    Args:
        consistency: α.
        label_smoothing: see `MaskedCrossEntropy`.
    """

    def __init__(self, consistency, label_smoothing=0.0, name="loss"):
        super().__init__(label_smoothing, name)
        self.consistency = consistency

    def call(self, labels, scores):
        """Labels and scores as in `MaskedCrossEntropy`, of rows that `twice` has made → a scalar."""
        mask = tf.cast(tf.reshape(labels, [2, -1])[0] != 0, tf.float32)
        divergence = tf.reduce_sum(symmetric_divergences(scores) * mask)
        l_kl = tf.math.divide_no_nan(divergence, tf.reduce_sum(mask))
        return super().call(labels, scores) + 0.5 * self.consistency * l_kl

    def get_config(self):
        return super().get_config() | {"consistency": self.consistency}


def symmetric_divergences(scores):
    """½ (KL(P₁ ‖ P₂) + KL(P₂ ‖ P₁)) of each place of rows that `twice` has made.

    Args:
        scores: float [2 · batch, length, vocabulary_size].

    Returns:
        float32 [batch · length].

    KL(P₁ ‖ P₂) is Σ_k P₁(k) δ(k), δ = log P₁ − log P₂; the gradient of both together by the first scores is
    P₁ (δ − KL(P₁ ‖ P₂) + 1) − P₂. It is written out, since scores are the largest tensor of a training step.
    """
    e = flat_scores(scores)
    p, log_normalizers = softmax(e)  # the same as the cross-entropy asks for
    p_1, p_2 = tf.split(p, 2)

    @tf.custom_gradient
    def divergences(e):
        (e_1, e_2), (z_1, z_2) = tf.split(e, 2), tf.split(log_normalizers, 2)
        δ = e_1 - e_2 - (z_1 - z_2)[:, tf.newaxis]
        kl_1, kl_2 = tf.einsum("ik,ik->i", p_1, δ), -tf.einsum("ik,ik->i", p_2, δ)

        def gradient(d):
            d = 0.5 * d[:, tf.newaxis]
            de_1 = d * (p_1 * (δ + (1.0 - kl_1)[:, tf.newaxis]) - p_2)
            de_2 = d * (p_2 * ((1.0 - kl_2)[:, tf.newaxis] - δ) - p_1)
            return tf.concat([de_1, de_2], axis=0)

        return 0.5 * (kl_1 + kl_2), gradient

    return divergences(e)
