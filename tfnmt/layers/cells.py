"""The recurrent activation functions φ: GRU and LSTM, each as one step of a recurrence.

A cell is apart from its loop. `project(s)` is the part that does not depend on the states, one product for
all times at once; `step(projected_s, states, product)` is the part in the loop, where `product("U", h)` is hU
(see `tfnmt.layers.recurrence`).
"""

import keras
import tensorflow as tf

from tfnmt.layers.recurrence import times


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
        self.normalizers = [keras.layers.LayerNormalization() for _ in range(2)] if layer_normalization else None

    def build(self, input_size):
        width = self.gates * self.units
        self.W = self.add_weight(name="W", shape=(input_size, width), initializer="glorot_uniform")
        self.U = self.add_weight(name="U", shape=(self.units, width), initializer=_orthogonal_blocks(self.gates))
        self.b = self.add_weight(name="b", shape=(width,), initializer="zeros")
        for normalizer in self.normalizers or ():
            normalizer.build((None, width))

    @property
    def loop_weights(self):
        """The matrices that `step` multiplies with, by the names it uses."""
        return {"U": tf.convert_to_tensor(self.U)}

    @property
    def input_weights(self):
        """The matrix that `project` multiplies with when it is part of a loop."""
        return {"W": tf.convert_to_tensor(self.W)}

    def project(self, s, product=None):
        """sW + b for inputs s [..., input_size], as [..., gates · units].

        `product`: the loop's, where the inputs are known only in the loop, one time after the other.
        """
        projected = product("W", s) if product is not None else times(s, tf.convert_to_tensor(self.W))
        if self.normalizers:
            projected = self.normalizers[0](projected)
        return projected + self.b

    def hidden_product(self, h, product, dropout_mask):
        """hU, [batch, gates · units], with what the options add to it."""
        if dropout_mask is not None:
            h = h * dropout_mask
        a = product("U", h)
        return self.normalizers[1](a) if self.normalizers else a


class GRUCell(Cell):
    """Gated recurrent unit (Cho et al. 2014, arXiv:1406.1078, eq. 5–8), reset after the product with U:

    r = σ(sW_r + hU_r + b_r)     u = σ(sW_u + hU_u + b_u)
    h̃ = tanh(sW + r ⊙ (hU) + b)     h' = u ⊙ h + (1 − u) ⊙ h̃
    """

    gates = 3
    number_of_states = 1

    def step(self, projected, states, product, dropout_mask=None):
        """(h,) → (h',), each [batch, units]; `projected` is sW + b, [batch, 3 · units], blocks r, u, h̃."""
        (h,) = states
        a = self.hidden_product(h, product, dropout_mask)
        both = 2 * self.units
        r, u = tf.split(tf.sigmoid(projected[:, :both] + a[:, :both]), 2, axis=-1)
        candidate = tf.tanh(projected[:, both:] + r * a[:, both:])
        return (candidate + u * (h - candidate),)


class LSTMCell(Cell):
    """Long short-term memory (Hochreiter & Schmidhuber 1997; forget gate: Gers et al. 2000):

        i, f, o = σ(sW_{i,f,o} + hU_{i,f,o} + b_{i,f,o})     g = tanh(sW_g + hU_g + b_g)
        c' = f ⊙ c + i ⊙ g     h' = o ⊙ tanh(c')

    The forget gate's bias starts at 1 (Jozefowicz et al. 2015), as a constant added to b_f.
    """

    gates = 4
    number_of_states = 2

    def step(self, projected, states, product, dropout_mask=None):
        """(h, c) → (h', c'), each [batch, units]; `projected` is sW + b, blocks i, f, o, g of [batch, units]."""
        h, c = states
        a = projected + self.hidden_product(h, product, dropout_mask)
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
