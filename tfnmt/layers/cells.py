"""The recurrent activation functions φ: GRU and LSTM, each as one step of a recurrence.

A cell is a Keras cell, so `keras.layers.RNN(cell)` runs it. The loops here (`tfnmt.layers.recurrence`) take it in two
parts: `project(s)`, which does not depend on the states, is one product for all times before the loop, and
`step(projected_s, states, invariants)` is what is left in the loop, where `invariants.matmul("U", h)` is hU.
"""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.invariants import LoopInvariants, cast_matrix, cast_weight, invariants_for_one_step, times
from tfnmt.layers.options import require_whole
from tfnmt.layers.recurrence import Tensors


class Cell(keras.layers.Layer):
    """What GRU and LSTM share: weights W, b of the input, U of the state, and optional layer normalization.

    Args:
        units: size of the hidden state h.
        layer_normalization: normalize sW and hU, each with a gain and bias of its own (Ba et al. 2016,
            arXiv:1607.06450, eq. 20). The state c of an LSTM is not normalized, as it is in their eq. 22.

    Attributes:
        state_size, output_size: as Keras defines them for cells.

    Raises:
        ValueError: units are no whole number from 1.
    """

    gates: int
    """How many blocks of `units` columns W and U have."""
    number_of_states: int
    """1: h alone. 2: h and the memory c."""
    is_bounded: bool = False
    """Whether h is within ±1 if it was before, without which there are no products in int8."""

    def __init__(self, units: int, layer_normalization: bool = False, **options: Any):
        super().__init__(**options)
        require_whole(1, units=units)
        self.units = self.output_size = units
        self.state_size = units if self.number_of_states == 1 else [units] * self.number_of_states
        self.layer_normalization = layer_normalization

    def build(self, input_shape: tuple) -> None:
        """`input_shape`: [batch, input_size]; only the last dimension matters."""
        width = self.gates * self.units
        self.W = self.add_weight(name="W", shape=(input_shape[-1], width), initializer="glorot_uniform")
        self.U = self.add_weight(name="U", shape=(self.units, width), initializer=_orthogonal_blocks(self.gates))
        self.b = self.add_weight(name="b", shape=(width,), initializer="zeros")
        if self.layer_normalization:
            self.gain_s = self.add_weight(name="gain_s", shape=(width,), initializer="ones")
            self.gain_h = self.add_weight(name="gain_h", shape=(width,), initializer="ones")
            self.bias_h = self.add_weight(name="bias_h", shape=(width,), initializer="zeros")

    def call(
        self, inputs: tf.Tensor, states: list[tf.Tensor], training: bool | None = None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """One step, as `keras.layers.RNN` calls it.

        Args:
            inputs: s, float [batch, input_size].
            states: [h] or [h, c], each float [batch, units].
            training: has no effect.

        Returns:
            (h', [h'] or [h', c']).
        """
        states = states if isinstance(states, list | tuple) else (states,)
        invariants = invariants_for_one_step(self.loop_weights(), self.loop_constants())
        new_states = self.step(self.project(inputs), tuple(states), invariants)
        return new_states[0], list(new_states)

    def get_initial_state(self, batch_size: int | tf.Tensor) -> list[tf.Tensor]:
        """The states before the first step: zeros [batch_size, units] for each."""
        return [tf.zeros([batch_size, self.units], self.compute_dtype)] * self.number_of_states

    def loop_weights(self, with_inputs: bool = False) -> dict[str, tf.Tensor]:
        """The matrices that a loop multiplies with, by name; `with_inputs` where `project` is in the loop too."""
        weights = {"U": cast_matrix(self, self.U)}
        return weights | {"W": cast_matrix(self, self.W)} if with_inputs else weights

    def loop_constants(self, dropout_mask: tf.Tensor | None = None) -> dict[str, tf.Tensor]:
        """The other tensors that a loop needs. `dropout_mask`: [batch, units], times h in its product with U."""
        names = ("b", "gain_s", "gain_h", "bias_h") if self.layer_normalization else ("b",)
        constants = {name: cast_weight(self, getattr(self, name)) for name in names}
        return constants if dropout_mask is None else constants | {"dropout_mask": dropout_mask}

    def project(self, s: tf.Tensor, invariants: LoopInvariants | None = None) -> tf.Tensor:
        """sW + b for inputs s [..., input_size], as [..., gates · units].

        `invariants`: the loop's, where the inputs are known only in the loop, one time after the other.
        """
        if invariants is None:
            invariants = invariants_for_one_step({}, self.loop_constants())
            projected = times(s, cast_matrix(self, self.W))
        else:
            projected = invariants.matmul("W", s)
        if self.layer_normalization:
            projected = normalize(projected, invariants["gain_s"])
        return projected + invariants["b"]

    def step(self, projected: tf.Tensor, states: Tensors, invariants: LoopInvariants) -> Tensors:
        """The states after one step; `projected` is `project(s)` at that time, [batch, gates · units]."""
        raise NotImplementedError

    def recurrent_product(self, h: tf.Tensor, invariants: LoopInvariants) -> tf.Tensor:
        """hU, [batch, gates · units], after dropout of h and normalized, where the options say so."""
        a = invariants.matmul("U", h * invariants["dropout_mask"] if "dropout_mask" in invariants else h)
        return normalize(a, invariants["gain_h"]) + invariants["bias_h"] if self.layer_normalization else a


def normalize(a: tf.Tensor, gain: tf.Tensor) -> tf.Tensor:
    """Layer normalization without bias: a [..., size] to mean 0 and variance 1 over its last dimension, times gain."""
    mean, variance = tf.nn.moments(a, axes=-1, keepdims=True)
    return (a - mean) * tf.math.rsqrt(variance + 1e-5) * gain


@keras.saving.register_keras_serializable("tfnmt")
class GRUCell(Cell):
    """Gated recurrent unit (Cho et al. 2014, arXiv:1406.1078, eq. 5–8), reset after the product with U:

    r = σ(sW_r + hU_r + b_r)     u = σ(sW_u + hU_u + b_u)
    h̃ = tanh(sW + r ⊙ (hU) + b)     h' = u ⊙ h + (1 − u) ⊙ h̃
    """

    gates = 3
    number_of_states = 1
    is_bounded = True

    def step(self, projected: tf.Tensor, states: Tensors, invariants: LoopInvariants) -> Tensors:
        """(h,) → (h',), each [batch, units]; `projected` is sW + b, [batch, 3 · units], blocks r, u, h̃."""
        (h,) = states
        a = self.recurrent_product(h, invariants)
        blocks = [2 * self.units, self.units]
        projected_gates, projected_candidate = tf.split(projected, blocks, axis=-1)
        a_gates, a_candidate = tf.split(a, blocks, axis=-1)
        r, u = tf.split(tf.sigmoid(projected_gates + a_gates), 2, axis=-1)
        candidate = tf.tanh(projected_candidate + r * a_candidate)
        return (candidate + u * (h - candidate),)


@keras.saving.register_keras_serializable("tfnmt")
class LSTMCell(Cell):
    """Long short-term memory (Hochreiter & Schmidhuber 1997; forget gate: Gers et al. 2000):

        i, f, o = σ(sW_{i,f,o} + hU_{i,f,o} + b_{i,f,o})     g = tanh(sW_g + hU_g + b_g)
        c' = f ⊙ c + i ⊙ g     h' = o ⊙ tanh(c')

    The forget gate's bias starts at 1 (Jozefowicz et al. 2015), as a constant added to b_f.
    """

    gates = 4
    number_of_states = 2
    is_bounded = True

    def step(self, projected: tf.Tensor, states: Tensors, invariants: LoopInvariants) -> Tensors:
        """(h, c) → (h', c'), each [batch, units]; `projected` is sW + b, blocks i, f, o, g of [batch, units]."""
        h, c = states
        a = projected + self.recurrent_product(h, invariants)
        i, f, o, g = tf.split(a, 4, axis=-1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
        return (tf.sigmoid(o) * tf.tanh(c), c)


def _orthogonal_blocks(gates: int) -> Callable:
    """An orthogonal matrix for each gate, side by side (as dl4mt and LIUM initialize U)."""

    def initialize(shape, dtype=None):
        rows, columns = shape
        # One initializer each, so that each draws its own numbers.
        blocks = [keras.initializers.Orthogonal() for _ in range(gates)]
        return tf.concat([block((rows, columns // gates), dtype=dtype) for block in blocks], axis=1)

    return initialize
