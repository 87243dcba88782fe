"""Recurrent layers: a cell over sequences, by the loop of `tfnmt.layers.recurrence`."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.cells import Cell
from tfnmt.layers.recurrence import STEPS, Tensors, recur

SEGMENTS = 4
"""Sequences of a known length are read in so many segments, one after the other.

What depends on no state (the inputs' products, and in the backward pass the weights' gradients) can then be computed
for one segment while the loop reads another, by another thread.
"""


@keras.saving.register_keras_serializable("tfnmt")
class RNN(keras.layers.Layer):
    """h_t = φ(h_{t−1}, s_t) for t = 1 … T: what `keras.layers.RNN(cell)` computes, and its gradients, in less time.

    The inputs' products sW are one product before the loop, and a weight's gradient is one product after it.

    Args:
        cell: a `GRUCell`, an `LSTMCell` or a `Cell` of one's own (docs/extending.md).
        return_sequences: return h of all times, in place of the last one.
        return_state: also return the states after the last step.
        go_backwards: read from the last time to the first; h comes in the order in which it is computed.
        state_dropout: fraction dropped of h in its product with U, one mask for all times (Gal & Ghahramani 2016,
            arXiv:1512.05287).

    Raises:
        TypeError: the cell is of another kind.
        ValueError: the cell computes in another dtype.
    """

    stateful, states = False, None  # asked for by keras.layers.Bidirectional

    def __init__(
        self,
        cell: Cell,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        state_dropout: float = 0.0,
        **options: Any,
    ):
        super().__init__(**options)
        if not isinstance(cell, Cell):
            raise TypeError(
                f"cell is a Cell, such as GRUCell or LSTMCell of tfnmt.layers, not {cell!r}; others: keras.layers.RNN"
            )
        if cell.compute_dtype != self.compute_dtype:
            raise ValueError(
                f"the cell computes in {cell.compute_dtype}, the layer in {self.compute_dtype}: give both one dtype"
            )
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.state_dropout = keras.layers.Dropout(state_dropout, dtype=self.dtype_policy.name)
        self.supports_masking = True

    def build(self, sequences_shape: tuple, initial_state_shape: Any = None) -> None:
        """`sequences_shape`: [batch, time, input_size]."""
        if len(sequences_shape) != 3:
            raise ValueError(f"sequences have the shape {tuple(sequences_shape)}: [batch, time, input_size] is needed")
        if not self.cell.built:
            self.cell.build((sequences_shape[0], sequences_shape[2]))
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: sequences_shape[2]})

    def compute_output_shape(self, sequences_shape: tuple, initial_state_shape: Any = None) -> Any:
        """The shape of what `call` returns, which a functional model asks for."""
        batch, time, _ = sequences_shape
        state = (batch, self.cell.units)
        read = (batch, time, self.cell.units) if self.return_sequences else state
        return (read, *[state] * self.cell.number_of_states) if self.return_state else read

    def call(
        self,
        sequences: tf.Tensor,
        initial_state: list[tf.Tensor] | None = None,
        mask: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tf.Tensor | tuple[tf.Tensor, ...]:
        """Read a batch of sequences.

        Args:
            sequences: s, float [batch, time, input_size].
            initial_state: [h] or [h, c] before the first step, each float [batch, units]; zeros by default.
            mask: bool [batch, time]. Where it is False no state changes, and h is that of the step before, or zeros
                before the first step.
            training: whether to drop out.

        Returns:
            h after the last step, float [batch, units], or of all times, [batch, time, units]. With `return_state` a
            tuple of that and the states after the last step.

        Raises:
            ValueError: the mask, or the initial state, is of another shape.
        """
        self._check(sequences, initial_state, mask)
        s = tf.transpose(sequences, [1, 0, 2])
        mask = None if mask is None else tf.transpose(tf.cast(mask, tf.bool))
        given = initial_state is not None
        states = tf.nest.flatten(initial_state) if given else self.cell.get_initial_state(tf.shape(s)[1])
        h, last = read_sequences(
            self.cell,
            s,
            tuple(tf.cast(state, s.dtype) for state in states),
            mask,
            state_dropout_mask(self.cell, s, self.state_dropout, training),
            reverse=self.go_backwards,
            return_sequences=self.return_sequences,
        )
        output = last[0]
        if self.return_sequences:
            output = tf.transpose(tf.reverse(h, [0]) if self.go_backwards else h, [1, 0, 2])
        if mask is not None and given:
            output = tf.where(self._begun(mask), output, tf.zeros([], output.dtype))
        return (output, *last) if self.return_state else output

    def _check(self, sequences, initial_state, mask):
        """Raise `ValueError` for shapes that do not go together."""
        if mask is not None and not sequences.shape[:2].is_compatible_with(mask.shape):
            raise ValueError(f"the mask has the shape {mask.shape}, the sequences {sequences.shape}: both begin alike")
        states = [] if initial_state is None else tf.nest.flatten(initial_state)
        needed = tf.TensorShape([sequences.shape[0], self.cell.units])
        if initial_state is not None and len(states) != self.cell.number_of_states:
            raise ValueError(f"initial_state has {len(states)} tensors: the cell has {self.cell.number_of_states}")
        for state in states:
            if not needed.is_compatible_with(state.shape):
                raise ValueError(f"a state has the shape {state.shape}: {needed} is needed")

    def _begun(self, mask):
        """Whether there has been a step: mask [time, batch] → bool [batch, 1], or of all times, [batch, time, 1]."""
        steps = tf.cast(tf.transpose(tf.reverse(mask, [0]) if self.go_backwards else mask), tf.int32)
        counts = tf.cumsum(steps, axis=1) if self.return_sequences else tf.reduce_sum(steps, axis=1)
        return counts[..., tf.newaxis] > 0

    def compute_mask(self, sequences: Any, mask: Any = None) -> Any:
        """The mask of h, in its order; the states have none."""
        if not self.return_sequences or mask is None:
            output_mask = None
        else:
            output_mask = keras.ops.flip(mask, axis=1) if self.go_backwards else mask
        return (output_mask, *[None] * self.cell.number_of_states) if self.return_state else output_mask

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        return {
            **super().get_config(),
            "cell": keras.saving.serialize_keras_object(self.cell),
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
            "state_dropout": self.state_dropout.rate,
        }

    @classmethod
    def from_config(cls, config: dict) -> "RNN":
        """The inverse of `get_config`."""
        return cls(**config | {"cell": keras.saving.deserialize_keras_object(config["cell"])})


def read_sequences(
    cell: Cell,
    s: tf.Tensor,
    states: Tensors,
    mask: tf.Tensor | None = None,
    dropout_mask: tf.Tensor | None = None,
    reverse: bool = False,
    return_sequences: bool = True,
) -> tuple[tf.Tensor | None, Tensors]:
    """Run a built cell over a batch of sequences.

    Args:
        cell: the cell φ.
        s: its inputs, float [time, batch, input_size].
        states: those before the first step, each float [batch, units].
        mask: bool [time, batch], False at padding, which changes no state; None where there is none.
        dropout_mask: float [batch, units], times h in its product with U at all times; None for no dropout.
        reverse: read from the last time to the first. h stays in the order of s.
        return_sequences: whether h is wanted.

    Returns:
        (h, states): h of all times, float [time, batch, units], or None, and the states after the last step.
    """
    weights, constants = cell.loop_weights(), cell.loop_constants(dropout_mask)

    def step(inputs, states, invariants):
        states = cell.step(*inputs, states, invariants)
        return states[:1] if return_sequences else (), states

    segments, outputs = list(zip(_segments(s), _segments(mask, s), strict=True)), []
    for segment, segment_mask in reversed(segments) if reverse else segments:
        h, states = recur(
            step,
            inputs=(cell.project(segment),),
            states=states,
            weights=weights,
            output_sizes=(cell.units,) if return_sequences else (),
            constants=constants,
            mask=segment_mask,
            reverse=reverse,
        )
        outputs.extend(h)
    if not return_sequences:
        return None, states
    return tf.concat(outputs[::-1] if reverse else outputs, axis=0), states


def _segments(x, like=None):
    """x [time, ...] in at most `SEGMENTS` pieces where the time is known, else whole.

    The pieces are as long as some iterations of the loop, which takes up to `STEPS` steps in each.
    """
    time = (x if like is None else like).shape[0]
    if time is None or time < 2 * STEPS:
        return [x]
    size = max(STEPS, -(-time // SEGMENTS) // STEPS * STEPS)
    count = min(SEGMENTS, -(-time // size))
    return [None] * count if x is None else tf.split(x, [size] * (count - 1) + [time - size * (count - 1)])


def state_dropout_mask(
    cell: Cell, s: tf.Tensor, dropout: keras.layers.Dropout, training: bool | None
) -> tf.Tensor | None:
    """One mask [batch, units] for all times of s [time, batch, size], or None where nothing is ever dropped."""
    return dropout(tf.ones([tf.shape(s)[1], cell.units], s.dtype), training=training) if dropout.rate else None
