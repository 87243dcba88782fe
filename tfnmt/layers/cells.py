"""The recurrent activation functions φ: GRU and LSTM, each as one step of a recurrence.

A cell is apart from its loop. `project(s)` is the part that does not depend on the states, one product for
all times at once; `step(projected_s, states, invariants)` is the part in the loop, where `invariants.matmul("U", h)` is
hU (see `tfnmt.layers.recurrence`).
"""

import keras
import tensorflow as tf

from tfnmt.layers.recurrence import invariants_for_one_step, times


class Cell(keras.layers.Layer):
    """What GRU and LSTM share: weights W, b of the input, U of the state, and optional layer normalisation.

    Args:
        units: size of the hidden state h.
        layer_normalization: normalise sW and hU, each with a gain and bias of its own (Ba et al. 2016,
            arXiv:1607.06450, eq. 20–22).
    """

    gates = None  # how many blocks of `units` columns W and U have
    number_of_states = None  # h alone, or h and the memory c

    def __init__(self, units, layer_normalization=False, **options):
        super().__init__(**options)
        self.units = units
        self.layer_normalization = layer_normalization

    def build(self, input_size):
        width = self.gates * self.units
        self.W = self.add_weight(name="W", shape=(input_size, width), initializer="glorot_uniform")
        self.U = self.add_weight(name="U", shape=(self.units, width), initializer=_orthogonal_blocks(self.gates))
        self.b = self.add_weight(name="b", shape=(width,), initializer="zeros")
        if self.layer_normalization:
            self.gain_s = self.add_weight(name="gain_s", shape=(width,), initializer="ones")
            self.gain_h = self.add_weight(name="gain_h", shape=(width,), initializer="ones")
            self.bias_h = self.add_weight(name="bias_h", shape=(width,), initializer="zeros")

    def loop_weights(self, with_inputs=False):
        """The matrices that a loop multiplies with, by name; `with_inputs` where `project` is in the loop too."""
        weights = {"U": tf.convert_to_tensor(self.U)}
        return weights | {"W": tf.convert_to_tensor(self.W)} if with_inputs else weights

    def loop_constants(self, dropout_mask=None):
        """What else a loop needs. `dropout_mask`: [batch, units], times h in its product with U, or None."""
        names = ("b", "gain_s", "gain_h", "bias_h") if self.layer_normalization else ("b",)
        constants = {name: tf.convert_to_tensor(getattr(self, name)) for name in names}
        return constants if dropout_mask is None else constants | {"dropout_mask": dropout_mask}

    def project(self, s, invariants=None):
        """sW + b for inputs s [..., input_size], as [..., gates · units].

        `invariants`: the loop's, where the inputs are known only in the loop, one time after the other.
        """
        if invariants is None:
            invariants = invariants_for_one_step({}, self.loop_constants())
            projected = times(s, tf.convert_to_tensor(self.W))
        else:
            projected = invariants.matmul("W", s)
        if self.layer_normalization:
            projected = normalize(projected, invariants["gain_s"])
        return projected + invariants["b"]

    def hidden_product(self, h, invariants):
        """hU, [batch, gates · units], with what the options add to it."""
        a = invariants.matmul("U", h * invariants["dropout_mask"] if "dropout_mask" in invariants else h)
        return normalize(a, invariants["gain_h"]) + invariants["bias_h"] if self.layer_normalization else a


def normalize(a, gain):
    """Layer normalisation without bias: a [..., size] to mean 0 and variance 1 over its last dimension, times gain."""
    mean, variance = tf.nn.moments(a, axes=-1, keepdims=True)
    return (a - mean) * tf.math.rsqrt(variance + 1e-5) * gain


class GRUCell(Cell):
    """Gated recurrent unit (Cho et al. 2014, arXiv:1406.1078, eq. 5–8), reset after the product with U:

    r = σ(sW_r + hU_r + b_r)     u = σ(sW_u + hU_u + b_u)
    h̃ = tanh(sW + r ⊙ (hU) + b)     h' = u ⊙ h + (1 − u) ⊙ h̃
    """

    gates = 3
    number_of_states = 1

    def step(self, projected, states, invariants):
        """(h,) → (h',), each [batch, units]; `projected` is sW + b, [batch, 3 · units], blocks r, u, h̃."""
        (h,) = states
        a = self.hidden_product(h, invariants)
        blocks = [2 * self.units, self.units]
        projected_gates, projected_candidate = tf.split(projected, blocks, axis=-1)
        a_gates, a_candidate = tf.split(a, blocks, axis=-1)
        r, u = tf.split(tf.sigmoid(projected_gates + a_gates), 2, axis=-1)
        candidate = tf.tanh(projected_candidate + r * a_candidate)
        return (candidate + u * (h - candidate),)


class LSTMCell(Cell):
    """Long short-term memory (Hochreiter & Schmidhuber 1997; forget gate: Gers et al. 2000):

        i, f, o = σ(sW_{i,f,o} + hU_{i,f,o} + b_{i,f,o})     g = tanh(sW_g + hU_g + b_g)
        c' = f ⊙ c + i ⊙ g     h' = o ⊙ tanh(c')

    The forget gate's bias starts at 1 (Jozefowicz et al. 2015), as a constant added to b_f.
    """

    gates = 4
    number_of_states = 2

    def step(self, projected, states, invariants):
        """(h, c) → (h', c'), each [batch, units]; `projected` is sW + b, blocks i, f, o, g of [batch, units]."""
        h, c = states
        a = projected + self.hidden_product(h, invariants)
        i, f, o, g = tf.split(a, 4, axis=-1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
        return (tf.sigmoid(o) * tf.tanh(c), c)


CELLS = {"gru": GRUCell, "lstm": LSTMCell}


def _orthogonal_blocks(gates):
    """An orthogonal matrix for each gate, side by side (as dl4mt and LIUM initialise U)."""

    def initialize(shape, dtype=None):
        rows, columns = shape
        # One initializer each, so that each draws its own numbers.
        blocks = [keras.initializers.Orthogonal() for _ in range(gates)]
        return tf.concat([block((rows, columns // gates), dtype=dtype) for block in blocks], axis=1)

    return initialize
