"""Attention: which of the encoder's states h_j to look at for the next word.

Bahdanau et al. 2015, Luong et al. 2015. What depends on the source alone (the keys) is computed once, before
the decoder's loop. `attend` is one step in the loop.
"""

import keras
import tensorflow as tf

from tfnmt.layers.recurrence import times


class Attention(keras.layers.Layer):
    """What the three kinds share: energies e_j of a query against every h_j, and from them

    α = softmax(e) over real words     c = Σ_j α_j h_j
    """

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units

    def loop_weights(self):
        """The matrices that `attend` multiplies with, by name."""
        return {}

    def loop_constants(self):
        """What else `attend` needs."""
        return {}

    def of_memory(self, memory):
        """What it needs of one memory: more matrices, one for each example, and more of what else it needs."""
        return {"values": memory["values"]}, {"penalty": memory["penalty"]}

    def memory(self, h, mask):
        """All that `attend` needs of one source: keys, values h, and penalties that leave padding no weight.

        Args:
            h: the encoder's states [batch, source_length, size].
            mask: bool [batch, source_length], False at padding.
        """
        penalty = tf.where(mask, tf.zeros((), h.dtype), h.dtype.min / 2)
        return {"keys": self.keys(h), "values": h, "penalty": penalty}

    def attend(self, z, invariants):
        """Look from the decoder's state z [batch, decoder_units].

        Returns: the context c [batch, size] and the weights α [batch, source_length].
        """
        weights = tf.nn.softmax(self.energies(z, invariants) + invariants["penalty"])
        return invariants.matmul("values", weights), weights


class AdditiveAttention(Attention):
    """e_j = vᵀ tanh(z W_a + h_j U_a + b)  (Bahdanau et al. 2015, arXiv:1409.0473, appendix A.1.2)."""

    def build(self, query_size, state_size):
        self.W_a = self.add_weight(name="W_a", shape=(query_size, self.units), initializer="glorot_uniform")
        self.U_a = self.add_weight(name="U_a", shape=(state_size, self.units), initializer="glorot_uniform")
        self.b = self.add_weight(name="b", shape=(self.units,), initializer="zeros")
        self.v = self.add_weight(name="v", shape=(self.units, 1), initializer="glorot_uniform")

    def loop_weights(self):
        return {"W_a": tf.convert_to_tensor(self.W_a)}

    def loop_constants(self):
        return {"v": tf.convert_to_tensor(self.v)}

    def of_memory(self, memory):
        matrices, others = super().of_memory(memory)
        return matrices, others | {"keys": memory["keys"]}

    def keys(self, h):
        """h_j U_a + b, [batch, source_length, units]."""
        return times(h, tf.convert_to_tensor(self.U_a)) + self.b

    def energies(self, z, invariants):
        """[batch, source_length]."""
        hidden = tf.tanh(invariants.matmul("W_a", z)[:, tf.newaxis, :] + invariants["keys"])
        e = tf.matmul(tf.reshape(hidden, [-1, self.units]), invariants["v"])
        return tf.reshape(e, tf.shape(hidden)[:2])


class DotAttention(Attention):
    """e_j = z · h_j  (Luong et al. 2015, arXiv:1508.04025, eq. 8, "dot"). z and h_j must be of one size."""

    def build(self, query_size, state_size):
        if query_size != state_size:
            raise ValueError(
                f"dot attention needs states of one size: the decoder's are {query_size}, the encoder's"
                f" {state_size}; attention=general has no such need"
            )

    def keys(self, h):
        """h_j transposed, [batch, size, source_length]."""
        return tf.transpose(h, [0, 2, 1])

    def of_memory(self, memory):
        matrices, others = super().of_memory(memory)
        return matrices | {"keys": memory["keys"]}, others

    def energies(self, z, invariants):
        """[batch, source_length]."""
        return invariants.matmul("keys", z)


class GeneralAttention(DotAttention):
    """e_j = zᵀ W_a h_j  (Luong et al. 2015, eq. 8, "general"); h_j W_a is computed before the loop."""

    def build(self, query_size, state_size):
        self.W_a = self.add_weight(name="W_a", shape=(state_size, query_size), initializer="glorot_uniform")

    def keys(self, h):
        """(h_j W_a) transposed, [batch, query_size, source_length]."""
        return tf.transpose(times(h, tf.convert_to_tensor(self.W_a)), [0, 2, 1])


ATTENTIONS = {"additive": AdditiveAttention, "dot": DotAttention, "general": GeneralAttention}
