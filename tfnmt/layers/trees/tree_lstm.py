"""The TreeLSTM: what REDUCE does to two phrases."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.recurrence import LoopInvariants, invariants_for_one_step


@keras.saving.register_keras_serializable("tfnmt")
class TreeLSTM(keras.layers.Layer):
    """Two children, each (h, c), and optionally the tracker's state become their parent:

        g, i, f_l, f_r, o = h_l W_l + h_r W_r + h_tracker W_t + b
        c = tanh(g) ⊙ σ(i) + σ(f_l) ⊙ c_l + σ(f_r) ⊙ c_r     h = σ(o) ⊙ tanh(c)

    Tai et al. 2015, arXiv:1503.00075, eq. 9–14, with the tracker of Bowman et al. 2016, arXiv:1603.06021, eq. 6–8.
    W_l, W_r and W_t are one matrix W, one above the other, so that a parent takes one product. The forget gates'
    bias starts at 0, as in both papers: at first half of each child's c is forgotten, so c neither grows nor fades up
    the tree.

    Args:
        units: size D of h and of c.
        tracker_units: size of the tracker's state; 0 for none.
    """

    has_memory = True

    def __init__(self, units: int, tracker_units: int = 0, **options: Any):
        super().__init__(**options)
        self.units = units
        self.tracker_units = tracker_units

    def build(self, input_shape: list[tuple] | None = None) -> None:
        """`input_shape`: those of the children's h and c, [parents, 2, units].

        Raises:
            ValueError: h and c have another size than `units`.
        """
        if input_shape is not None and input_shape[0][-1] != self.units:
            raise ValueError(f"children of units={self.units} have size {self.units}, not {input_shape[0][-1]}")
        shape = (2 * self.units + self.tracker_units, 5 * self.units)
        self.W = self.add_weight(name="W", shape=shape, initializer="glorot_uniform")
        self.b = self.add_weight(name="b", shape=(5 * self.units,), initializer="zeros")

    def call(
        self, children: tuple[tf.Tensor, tf.Tensor], tracking: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Compose parents.

        Args:
            children: (h, c) of the children, each float [parents, 2, units], the left child first.
            tracking: h of the tracker, float [parents, tracker_units]; unused where tracker_units is 0.

        Returns:
            (h, c) of the parents, each float [parents, units].
        """
        return self.step(*children, invariants_for_one_step(self.loop_weights(), self.loop_constants()), tracking)

    def loop_weights(self) -> dict[str, tf.Tensor]:
        """The matrices that `step` multiplies with, by name."""
        return {"W": tf.convert_to_tensor(self.W)}

    def loop_constants(self) -> dict[str, tf.Tensor]:
        """The other tensors that `step` needs, by name."""
        return {"b": tf.convert_to_tensor(self.b)}

    def step(
        self, h: tf.Tensor, c: tf.Tensor, invariants: LoopInvariants, tracking: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """`call` in a loop that has the weights in its `invariants`; h and c are the children's."""
        inputs = tf.reshape(h, [-1, 2 * self.units])
        if self.tracker_units:
            inputs = tf.concat([inputs, tracking], axis=1)
        return _gated(tf.nn.bias_add(invariants.matmul("W", inputs), invariants["b"]), c)

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        return {**super().get_config(), "units": self.units, "tracker_units": self.tracker_units}


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
