"""Attention between the two sentences of a pair: each word or phrase beside what it attends to in the other one."""

import functools
from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.convolution import max_over_words


@keras.saving.register_keras_serializable("tfnmt")
class PairAttention(keras.layers.Layer):
    """Attend, compare, aggregate (Parikh et al. 2016, arXiv:1606.01933, section 3), over the words of both sentences
    or, as Zhao et al. 2016 (arXiv:1701.01126), over the phrases of their trees. With the vectors a_i of one sentence
    and b_j of the other:

    e_ij = F(a_i) · F(b_j) / √units                       F(x) = ReLU(W_F x + b_F)
    β_i = Σ_j softmax_j(e_ij) b_j                         what a_i attends to
    v_i = ReLU(W [a_i; β_i; a_i − β_i; a_i ∘ β_i] + b)    compared as in Chen et al. 2017, arXiv:1609.06038, eq. 14
    [mean_i v_i; max_i v_i]                               and aggregated as there, eq. 18

    and the same of the other sentence, with the roles of a and b exchanged.

    Args:
        units: size of F(x) and of v_i.
    """

    def __init__(self, units: int, **options: Any):
        super().__init__(**options)
        self.units = units
        self.output_size = 2 * units
        dense = functools.partial(keras.layers.Dense, units, activation="relu", dtype=self.dtype_policy.name)
        self.F = dense(name="F")
        self.compare = dense(kernel_initializer="he_normal", name="compare")
        self.attention = keras.layers.Attention(name="attention", dtype=self.dtype_policy.name)

    def build(self, input_shape: tuple) -> None:
        """`input_shape`: [..., size]."""
        size = input_shape[-1]
        self.F.build((None, None, size))
        self.compare.build((None, None, 4 * size))

    def call(self, nodes: tf.Tensor, real: tf.Tensor) -> tf.Tensor:
        """The sentences' aggregated comparisons.

        Args:
            nodes: float [2 · batch, nodes, size], vectors of words or phrases; all first sentences, then all second
                ones, in the same order.
            real: bool [2 · batch, nodes], False at padding, which changes nothing; at least one is True in each row.

        Returns:
            float [2 · batch, 2 · units], in the order of the sentences.
        """
        F = self.F(nodes)
        other, other_F, other_real = (_exchanged(x) for x in (nodes, F, real))
        attended = self.attention([F / self.units**0.5, other, other_F], mask=[real, other_real])
        v = self.compare(tf.concat([nodes, attended, nodes - attended, nodes * attended], axis=-1))
        share = tf.cast(real, v.dtype)
        share = tf.math.divide_no_nan(share, tf.reduce_sum(share, axis=1, keepdims=True))
        return tf.concat([tf.einsum("sn,snu->su", share, v), max_over_words(v, real)], axis=-1)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {**super().get_config(), "units": self.units}


def _exchanged(x: tf.Tensor) -> tf.Tensor:
    """[2 · batch, ...] with its halves exchanged. (`tf.roll` and `tf.split` have no kernel for bool on GPUs.)"""
    batch = tf.shape(x)[0] // 2
    return tf.concat([x[batch:], x[:batch]], axis=0)
