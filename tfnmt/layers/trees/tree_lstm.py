"""The TreeLSTM: what REDUCE does to two phrases."""

import keras
import tensorflow as tf

from tfnmt.layers.invariants import LoopInvariants, cast_weight
from tfnmt.layers.trees.composition import Composition


@keras.saving.register_keras_serializable("tfnmt")
class TreeLSTM(Composition):
    """Two children, each (h, c), and optionally the tracker's state become their parent:

        g, i, f_l, f_r, o = h_l W_l + h_r W_r + h_tracker W_t + b
        c = tanh(g) ⊙ σ(i) + σ(f_l) ⊙ c_l + σ(f_r) ⊙ c_r     h = σ(o) ⊙ tanh(c)

    Tai et al. 2015, arXiv:1503.00075, eq. 9–14, with the tracker of Bowman et al. 2016, arXiv:1603.06021.
    W_l, W_r and W_t are one matrix W, one above the other, so that a parent takes one product. The forget gates'
    bias starts at 0 (in SPINN's own code at 1): at first half of each child's c is forgotten, so c neither grows nor
    fades up the tree.
    """

    has_memory = True

    def build(self, input_shape: list[tuple] | None = None) -> None:
        super().build(input_shape)
        shape = (self.input_size, 5 * self.units)
        self.W = self.add_weight(name="W", shape=shape, initializer="glorot_uniform")
        self.b = self.add_weight(name="b", shape=(5 * self.units,), initializer="zeros")

    def loop_weights(self) -> dict[str, tf.Tensor]:
        return {"W": cast_weight(self, self.W)}

    def loop_constants(self) -> dict[str, tf.Tensor]:
        return {"b": cast_weight(self, self.b)}

    def step(
        self, h: tf.Tensor, c: tf.Tensor, invariants: LoopInvariants, tracking: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        return _gated(tf.nn.bias_add(invariants.matmul("W", self.inputs(h, tracking)), invariants["b"]), c)


@tf.custom_gradient
def _gated(a, children_c):
    """The second line of the equations: a = (g, i, f_l, f_r, o) [parents, 5 · units] and c of the children → (h, c).

    The gradient is written out: TensorFlow's own has three times as many operations, which take most of the time where
    trees are small.
    """
    units = children_c.shape[-1]
    g = tf.tanh(a[:, :units])
    gates = tf.sigmoid(a[:, units:])
    i, f_l, f_r, o = tf.split(gates, 4, axis=1)
    c_l, c_r = tf.unstack(children_c, axis=1)
    c = g * i + f_l * c_l + f_r * c_r
    tanh_c = tf.tanh(c)

    def gradient(dh, dc):
        dc += tf.raw_ops.TanhGrad(y=tanh_c, dy=dh * o)
        d_gates = tf.concat([dc * g, dc * c_l, dc * c_r, dh * tanh_c], axis=1)
        da = [tf.raw_ops.TanhGrad(y=g, dy=dc * i), tf.raw_ops.SigmoidGrad(y=gates, dy=d_gates)]
        return tf.concat(da, axis=1), tf.stack([dc * f_l, dc * f_r], axis=1)

    return (o * tanh_c, c), gradient
