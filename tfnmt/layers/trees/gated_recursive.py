"""The gated recursive cell: another thing that REDUCE may do to two phrases."""

import keras
import tensorflow as tf

from tfnmt.layers.cells import normalize
from tfnmt.layers.invariants import LoopInvariants, cast_weight
from tfnmt.layers.trees.composition import Composition


@keras.saving.register_keras_serializable("tfnmt")
class GatedRecursiveCell(Composition):
    """Two children h_l, h_r, and optionally the tracker's state, become their parent:

        g_l, g_r, g_u, u = relu([h_l; h_r; h_tracker] W_1 + b_1) W_2 + b_2
        h = LayerNorm(σ(g_l) ⊙ h_l + σ(g_r) ⊙ h_r + σ(g_u) ⊙ u)

    Shen et al. 2019, Ordered Memory, arXiv:1910.11466, section 3.3; the tracker's input is as in SPINN. The hidden
    layer has 4 · units. There is no memory c: it has size 0.
    """

    has_memory = False

    def build(self, input_shape: list[tuple] | None = None) -> None:
        super().build(input_shape)
        hidden = 4 * self.units
        self.W_1 = self.add_weight(name="W_1", shape=(self.input_size, hidden), initializer="glorot_uniform")
        self.b_1 = self.add_weight(name="b_1", shape=(hidden,), initializer="zeros")
        self.W_2 = self.add_weight(name="W_2", shape=(hidden, hidden), initializer="glorot_uniform")
        self.b_2 = self.add_weight(name="b_2", shape=(hidden,), initializer="zeros")
        self.gain = self.add_weight(name="gain", shape=(self.units,), initializer="ones")
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")

    def loop_weights(self) -> dict[str, tf.Tensor]:
        return {name: cast_weight(self, getattr(self, name)) for name in ("W_1", "W_2")}

    def loop_constants(self) -> dict[str, tf.Tensor]:
        return {name: cast_weight(self, getattr(self, name)) for name in ("b_1", "b_2", "gain", "bias")}

    def step(
        self, h: tf.Tensor, c: tf.Tensor, invariants: LoopInvariants, tracking: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        hidden = tf.nn.relu(tf.nn.bias_add(invariants.matmul("W_1", self.inputs(h, tracking)), invariants["b_1"]))
        outputs = tf.nn.bias_add(invariants.matmul("W_2", hidden), invariants["b_2"])
        g_l, g_r, g_u = tf.split(tf.sigmoid(outputs[:, : 3 * self.units]), 3, axis=1)
        u = outputs[:, 3 * self.units :]
        h_l, h_r = tf.unstack(h, axis=1)
        parents = normalize(g_l * h_l + g_r * h_r + g_u * u, invariants["gain"]) + invariants["bias"]
        return parents, c[:, 0]
