"""The deep output: the layer between a decoder's state and the logits of the next word."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.feedforward import PIECES, activate
from tfnmt.layers.invariants import LoopInvariants, cast_matrix, cast_weight, times


@keras.saving.register_keras_serializable("tfnmt")
class DeepOutput(keras.layers.Layer):
    """t_i = tanh(z_i W_1 + u_{i−1} W_2 + c_i W_3 + b)  (Pascanu et al. 2014, arXiv:1312.6026).

    With maxout in place of tanh, each of t_i's numbers is the larger of two such sums (Bahdanau et al. 2015,
    arXiv:1409.0473, appendix A.2.2).

    Args:
        units: size of t_i.
        activation: "tanh" or "maxout".

    Raises:
        ValueError: the activation is another.
    """

    def __init__(self, units: int, activation: str = "tanh", **options: Any):
        super().__init__(**options)
        if activation not in ("tanh", "maxout"):
            raise ValueError(f"activation={activation!r}: allowed are tanh and maxout")
        self.units = units
        self.activation = activation

    def build(self, z_shape: tuple, u_shape: tuple, c_shape: tuple) -> None:
        """Of each shape the last dimension matters."""
        width = self.units * PIECES.get(self.activation, 1)
        for name, shape in {"W_1": z_shape, "W_2": u_shape, "W_3": c_shape}.items():
            weight = self.add_weight(name=name, shape=(shape[-1], width), initializer="glorot_uniform")
            setattr(self, name, weight)
        self.b = self.add_weight(name="b", shape=(width,), initializer="zeros")

    def call(self, z: tf.Tensor, u: tf.Tensor, c: tf.Tensor) -> tf.Tensor:
        """The state z, the word before u, and the context c, each float [..., size], as t, float [..., units]."""
        weights = self.loop_weights()
        return self._activated(self.project(u) + times(z, weights["W_1"]) + times(c, weights["W_3"]))

    def loop_weights(self, with_words: bool = False) -> dict[str, tf.Tensor]:
        """The matrices that `step` multiplies with, by name."""
        names = ("W_1", "W_2", "W_3") if with_words else ("W_1", "W_3")
        return {name: cast_matrix(self, getattr(self, name)) for name in names}

    def project(self, u: tf.Tensor, invariants: LoopInvariants | None = None) -> tf.Tensor:
        """u W_2 + b [..., units], which depends on no state."""
        product = times(u, cast_matrix(self, self.W_2)) if invariants is None else invariants.matmul("W_2", u)
        return product + cast_weight(self, self.b)

    def step(self, projected: tf.Tensor, z: tf.Tensor, c: tf.Tensor, invariants: LoopInvariants) -> tf.Tensor:
        """`call` in a loop that has the weights in its `invariants`; `projected` is `project(u)` at that time."""
        return self._activated(projected + invariants.matmul("W_1", z) + invariants.matmul("W_3", c))

    def _activated(self, a):
        return tf.tanh(a) if self.activation == "tanh" else activate(a, self.activation)
