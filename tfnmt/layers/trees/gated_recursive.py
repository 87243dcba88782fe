"""The gated recursive cell: another thing that REDUCE may do to two phrases."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.cells import normalize
from tfnmt.layers.recurrence import LoopInvariants, invariants_for_one_step


@keras.saving.register_keras_serializable("tfnmt")
class GatedRecursiveCell(keras.layers.Layer):
    """Two children h_l, h_r, and optionally the tracker's state, become their parent:

        g_l, g_r, g_u, u = relu([h_l; h_r; h_tracker] W_1 + b_1) W_2 + b_2
        h = LayerNorm(σ(g_l) ⊙ h_l + σ(g_r) ⊙ h_r + σ(g_u) ⊙ u)

    Shen et al. 2019, Ordered Memory, arXiv:1910.11466, section 3.3; the tracker's input is as in SPINN. The hidden
    layer has 4 · units. There is no memory c: it has size 0.

    Args:
        units: size of h.
        tracker_units: size of the tracker's state; 0 for none.
    """

    has_memory = False

    def __init__(self, units: int, tracker_units: int = 0, **options: Any):
        super().__init__(**options)
        self.units = units
        self.tracker_units = tracker_units

    def build(self, input_shape: list[tuple] | None = None) -> None:
        """`input_shape`: those of the children's h and c, [parents, 2, units] and [parents, 2, 0].

        Raises:
            ValueError: h has another size than `units`.
        """
        if input_shape is not None and input_shape[0][-1] != self.units:
            raise ValueError(f"children of units={self.units} have size {self.units}, not {input_shape[0][-1]}")
        hidden = 4 * self.units
        rows = 2 * self.units + self.tracker_units
        self.W_1 = self.add_weight(name="W_1", shape=(rows, hidden), initializer="glorot_uniform")
        self.b_1 = self.add_weight(name="b_1", shape=(hidden,), initializer="zeros")
        self.W_2 = self.add_weight(name="W_2", shape=(hidden, hidden), initializer="glorot_uniform")
        self.b_2 = self.add_weight(name="b_2", shape=(hidden,), initializer="zeros")
        self.gain = self.add_weight(name="gain", shape=(self.units,), initializer="ones")
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")

    def call(
        self, children: tuple[tf.Tensor, tf.Tensor], tracking: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Compose parents.

        Args:
            children: (h, c) of the children, float [parents, 2, units] and [parents, 2, 0], the left child first.
            tracking: h of the tracker, float [parents, tracker_units]; unused where tracker_units is 0.

        Returns:
            (h, c) of the parents, float [parents, units] and [parents, 0].
        """
        return self.step(*children, invariants_for_one_step(self.loop_weights(), self.loop_constants()), tracking)

    def loop_weights(self) -> dict[str, tf.Tensor]:
        """The matrices that `step` multiplies with, by name."""
        return {name: tf.convert_to_tensor(getattr(self, name)) for name in ("W_1", "W_2")}

    def loop_constants(self) -> dict[str, tf.Tensor]:
        """The other tensors that `step` needs, by name."""
        return {name: tf.convert_to_tensor(getattr(self, name)) for name in ("b_1", "b_2", "gain", "bias")}

    def step(
        self, h: tf.Tensor, c: tf.Tensor, invariants: LoopInvariants, tracking: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """`call` in a loop that has the weights in its `invariants`; h and c are the children's."""
        inputs = tf.reshape(h, [-1, 2 * self.units])
        if self.tracker_units:
            inputs = tf.concat([inputs, tracking], axis=1)
        hidden = tf.nn.relu(tf.nn.bias_add(invariants.matmul("W_1", inputs), invariants["b_1"]))
        outputs = tf.nn.bias_add(invariants.matmul("W_2", hidden), invariants["b_2"])
        g_l, g_r, g_u = tf.split(tf.sigmoid(outputs[:, : 3 * self.units]), 3, axis=1)
        u = outputs[:, 3 * self.units :]
        h_l, h_r = tf.unstack(h, axis=1)
        parents = normalize(g_l * h_l + g_r * h_r + g_u * u, invariants["gain"]) + invariants["bias"]
        return parents, c[:, 0]

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        return {**super().get_config(), "units": self.units, "tracker_units": self.tracker_units}
