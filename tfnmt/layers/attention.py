"""Attention: which of the encoder's states h_j to look at for the next word.

Bahdanau et al. 2015, Luong et al. 2015. The keys, which depend on the source alone, are computed once, before
the decoder's loop. `attend` is one step in the loop.
"""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.invariants import LoopInvariants, cast_matrix, cast_weight, invariants_for_one_step, times


class Attention(keras.layers.Layer):
    """What the three kinds share: energies e_j of a query z against every h_j, and from them

    α = softmax(e) over real words     c = Σ_j α_j h_j

    Args:
        units: size of the additive attention's hidden layer; the other kinds have none.
    """

    def __init__(self, units: int | None = None, **options: Any):
        super().__init__(**options)
        self.units = units

    def call(
        self, inputs: list[tf.Tensor], mask: tf.Tensor | list[tf.Tensor | None] | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Attend once from each query.

        Args:
            inputs: [z, h]: the queries, float [batch, query_size], and the states, float [batch, source_length, size].
            mask: bool [batch, source_length], False at padding, or a list of the masks of both inputs, of which the
                first has no effect. Without a mask all states are real.

        Returns:
            (c, α): the contexts, float [batch, size], and the weights, float [batch, source_length].

        Raises:
            ValueError: z or h has another number of dimensions.
        """
        z, h = inputs
        if (z.shape.rank, h.shape.rank) != (2, 3):
            raise ValueError(
                f"z has the shape {z.shape}, h {h.shape}: [batch, query_size], one query for each example, and [batch,"
                " source_length, size] are needed"
            )
        mask = mask[1] if isinstance(mask, list | tuple) else mask
        if mask is None:
            mask = tf.fill(tf.shape(h)[:2], True)
        weights, constants = self.memory_invariants(self.memory(h, mask))
        weights, constants = self.loop_weights() | weights, self.loop_constants() | constants
        return self.attend(z, invariants_for_one_step(weights, constants))

    def compute_mask(self, inputs: Any, mask: Any = None) -> tuple[None, None]:
        """What comes out has no time, or is zero at padding: no mask."""
        return None, None

    def factors(self, z: float, h: float) -> list[tuple[keras.Variable, float]]:
        """Each matrix that is the same for all sources, and the bound of what it is multiplied with: that of the
        queries, or that of the states."""
        return []

    def loop_weights(self) -> dict[str, tf.Tensor]:
        """The matrices that `attend` multiplies with, by name."""
        return {}

    def loop_constants(self) -> dict[str, tf.Tensor]:
        """The other tensors that `attend` needs, by name."""
        return {}

    def memory(self, h: tf.Tensor, mask: tf.Tensor) -> dict[str, tf.Tensor]:
        """All that `attend` needs of one source: keys, values h, and penalties that leave padding no weight.

        Args:
            h: the encoder's states [batch, source_length, size].
            mask: bool [batch, source_length], False at padding.
        """
        penalty = tf.where(mask, tf.zeros((), h.dtype), h.dtype.min / 2)
        return {"keys": self.keys(h), "values": h, "penalty": penalty}

    def memory_invariants(self, memory: dict[str, tf.Tensor]) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """What `memory` adds to (`loop_weights`, `loop_constants`); the matrices are one for each example."""
        return {"values": memory["values"]}, {"penalty": memory["penalty"]}

    def attend(self, z: tf.Tensor, invariants: LoopInvariants) -> tuple[tf.Tensor, tf.Tensor]:
        """`call` in a loop that has weights and memory in its `invariants`: z [batch, query_size] → (c, α)."""
        weights = tf.nn.softmax(invariants.add("penalty", self.energies(z, invariants)))
        return invariants.matmul("values", weights), weights

    def keys(self, h: tf.Tensor) -> tf.Tensor:
        """What the energies need of h [batch, source_length, size], computed once for a source."""
        raise NotImplementedError

    def energies(self, z: tf.Tensor, invariants: LoopInvariants) -> tf.Tensor:
        """e, float [batch, source_length]."""
        raise NotImplementedError


@keras.saving.register_keras_serializable("tfnmt")
class AdditiveAttention(Attention):
    """e_j = vᵀ tanh(z W_a + h_j U_a + b)  (Bahdanau et al. 2015, arXiv:1409.0473, appendix A.1.2).

    Raises:
        ValueError: no units are given.
    """

    def build(self, input_shape: list[tuple]) -> None:
        """`input_shape`: the shapes of z and h."""
        if self.units is None:
            raise ValueError("AdditiveAttention() has no units: give the size of its hidden layer")
        (*_, query_size), (*_, state_size) = input_shape
        self.W_a = self.add_weight(name="W_a", shape=(query_size, self.units), initializer="glorot_uniform")
        self.U_a = self.add_weight(name="U_a", shape=(state_size, self.units), initializer="glorot_uniform")
        self.b = self.add_weight(name="b", shape=(self.units,), initializer="zeros")
        self.v = self.add_weight(name="v", shape=(self.units, 1), initializer="glorot_uniform")

    def factors(self, z: float, h: float) -> list[tuple[keras.Variable, float]]:
        return [(self.W_a, z), (self.U_a, h)]

    def loop_weights(self) -> dict[str, tf.Tensor]:
        return {"W_a": cast_matrix(self, self.W_a)}

    def loop_constants(self) -> dict[str, tf.Tensor]:
        return {"v": cast_weight(self, self.v)}

    def memory_invariants(self, memory: dict[str, tf.Tensor]) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        weights, constants = super().memory_invariants(memory)
        return weights, constants | {"keys": memory["keys"]}

    def keys(self, h: tf.Tensor) -> tf.Tensor:
        """h_j U_a + b, [batch, source_length, units]."""
        return times(h, cast_matrix(self, self.U_a)) + cast_weight(self, self.b)

    def energies(self, z: tf.Tensor, invariants: LoopInvariants) -> tf.Tensor:
        hidden = tf.tanh(invariants.add("keys", invariants.matmul("W_a", z)[:, tf.newaxis, :]))
        e = tf.matmul(tf.reshape(hidden, [-1, self.units]), invariants["v"])
        return tf.reshape(e, tf.shape(hidden)[:2])


@keras.saving.register_keras_serializable("tfnmt")
class DotAttention(Attention):
    """e_j = z · h_j  (Luong et al. 2015, arXiv:1508.04025, eq. 8, "dot"). z and h_j must be of one size.

    Raises:
        ValueError: they are not.
    """

    def build(self, input_shape: list[tuple]) -> None:
        """`input_shape`: the shapes of z and h."""
        (*_, query_size), (*_, state_size) = input_shape
        if query_size != state_size:
            raise ValueError(
                f"dot attention needs states of one size: the decoder's are {query_size}, the encoder's"
                f" {state_size}; attention=general has no such need"
            )

    def keys(self, h: tf.Tensor) -> tf.Tensor:
        """h_j transposed, [batch, size, source_length]."""
        return tf.transpose(h, [0, 2, 1])

    def memory_invariants(self, memory: dict[str, tf.Tensor]) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        weights, constants = super().memory_invariants(memory)
        return weights | {"keys": memory["keys"]}, constants

    def energies(self, z: tf.Tensor, invariants: LoopInvariants) -> tf.Tensor:
        return invariants.matmul("keys", z)


@keras.saving.register_keras_serializable("tfnmt")
class GeneralAttention(DotAttention):
    """e_j = (h_j W_a) · z, with h_j W_a before the loop (Luong et al. 2015, eq. 8, "general", with W_aᵀ for W_a)."""

    def build(self, input_shape: list[tuple]) -> None:
        """`input_shape`: the shapes of z and h."""
        (*_, query_size), (*_, state_size) = input_shape
        self.W_a = self.add_weight(name="W_a", shape=(state_size, query_size), initializer="glorot_uniform")

    def factors(self, z: float, h: float) -> list[tuple[keras.Variable, float]]:
        return [(self.W_a, h)]

    def keys(self, h: tf.Tensor) -> tf.Tensor:
        """(h_j W_a) transposed, [batch, query_size, source_length]."""
        return tf.transpose(times(h, cast_matrix(self, self.W_a)), [0, 2, 1])
