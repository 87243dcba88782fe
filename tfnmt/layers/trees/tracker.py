"""The tracker: SPINN's memory of the sentence as it reads, from which it predicts the transitions."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.cells import LSTMCell
from tfnmt.layers.invariants import LoopInvariants, cast_weight, invariants_for_one_step, times
from tfnmt.text.brackets import PAD, REDUCE
from tfnmt.text.transitions import legal_moves

ILLEGAL = -1e4
"""The logit of an illegal move: e to its power is 0. It is finite, in float16 too, since −∞ − (−∞) would be NaN where
neither move is legal."""


@keras.saving.register_keras_serializable("tfnmt")
class Tracker(keras.layers.Layer):
    """An LSTM over the transitions: (h, c)_t = LSTM([h_first; h_top; h_second], (h, c)_{t−1}), where the three are h of
    the buffer's first word and of the two highest phrases on the stack, before transition t. From it come the logits of
    the transition, h_t W_p + b_p (Bowman et al. 2016, arXiv:1603.06021: the tracking LSTM).

    It is a cell, so `keras.layers.RNN` can run it over float [sentences, steps, 3, size].

    Args:
        units: size of h_t and c_t.
        predicts: whether it has W_p and b_p.
    """

    def __init__(self, units: int, predicts: bool = False, **options: Any):
        super().__init__(**options)
        self.units = self.output_size = units
        self.state_size = [units, units]
        self.predicts = predicts
        self.cell = LSTMCell(units, name="cell", dtype=self.dtype_policy.name)

    def build(self, input_shape: tuple) -> None:
        """`input_shape`: [..., 3, size], that of what it reads."""
        self.cell.build((None, 3 * input_shape[-1]))
        if self.predicts:
            self.W_p = self.add_weight(name="W_p", shape=(self.units, 2), initializer="glorot_uniform")
            self.b_p = self.add_weight(name="b_p", shape=(2,), initializer="zeros")

    def call(
        self, inputs: tf.Tensor, states: list[tf.Tensor], training: bool = False
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """One transition.

        Args:
            inputs: float [sentences, 3, size], h of the buffer's first word, of the top of the stack and of what lies
                below it; zeros for nothing.
            states: [h, c], each float [sentences, units].
            training: has no effect.

        Returns:
            (h, [h, c]).
        """
        invariants = invariants_for_one_step(self.loop_weights(), self.loop_constants())
        h, c = self.step(inputs, tuple(states), invariants)
        return h, [h, c]

    def get_initial_state(self, batch_size: int | tf.Tensor) -> list[tf.Tensor]:
        """[h, c] before the first transition: zeros [batch_size, units]."""
        return [tf.zeros([batch_size, self.units], self.compute_dtype)] * 2

    def loop_weights(self) -> dict[str, tf.Tensor]:
        """The matrices that `step` multiplies with, by name."""
        return self.cell.loop_weights(with_inputs=True)

    def loop_constants(self) -> dict[str, tf.Tensor]:
        """The other tensors that `step` needs, by name."""
        return self.cell.loop_constants()

    def step(
        self, reads: tf.Tensor, states: tuple[tf.Tensor, tf.Tensor], invariants: LoopInvariants
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """`call` in a loop that has the weights in its `invariants`: (h, c) → (h, c)."""
        inputs = tf.reshape(reads, [-1, 3 * reads.shape[2]])
        return self.cell.step(self.cell.project(inputs, invariants), states, invariants)

    def logits(self, h: tf.Tensor) -> tf.Tensor:
        """h [..., units] → the logits of SHIFT and REDUCE, [..., 2], legal or not."""
        return times(h, cast_weight(self, self.W_p)) + cast_weight(self, self.b_p)

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        return {**super().get_config(), "units": self.units, "predicts": self.predicts}


def predictions(logits: tf.Tensor, transitions: tf.Tensor, sampled: bool) -> dict[str, tf.Tensor]:
    """What an encoder returns whose tracker predicts: "transition_logits" and, where parses are `sampled`,
    "log_probability"; arguments as of the functions below.
    """
    logits = legal_logits(logits, transitions)
    results = {"transition_logits": logits}
    if sampled:
        results["log_probability"] = log_probability(logits, transitions)
    return results


def legal_logits(logits: tf.Tensor, transitions: tf.Tensor) -> tf.Tensor:
    """Logits [sentences, steps, 2] with ILLEGAL wherever a move was not legal in these trees [sentences, steps]."""
    return tf.where(legal_moves(transitions), logits, ILLEGAL)


def log_probability(logits: tf.Tensor, transitions: tf.Tensor) -> tf.Tensor:
    """log p of whole parses, float [sentences]: the sum over steps of log softmax(logits) of the transition taken.

    Args:
        logits: float [sentences, steps, 2], of SHIFT and REDUCE.
        transitions: int32 [sentences, steps], padded with PAD, which adds nothing.
    """
    log_p = tf.nn.log_softmax(logits)
    taken = tf.where(transitions == REDUCE, log_p[:, :, 1], log_p[:, :, 0])
    return tf.reduce_sum(tf.where(transitions == PAD, tf.zeros_like(taken), taken), axis=1)
