"""A tracker that reads words alone, so that it can parse a sentence before any phrase is composed."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.cells import LSTMCell
from tfnmt.layers.embedding import Embedding
from tfnmt.layers.invariants import cast_matrix, invariants_for_one_step, times
from tfnmt.layers.recurrence import recur
from tfnmt.layers.trees.parser import gumbel_noise
from tfnmt.layers.trees.tracker import ILLEGAL
from tfnmt.text.brackets import REDUCE, SHIFT
from tfnmt.text.transitions import borders_of_top

BORDERS = 4


@keras.saving.register_keras_serializable("tfnmt")
class WordTracker(keras.layers.Layer):
    """An LSTM over the transitions, which reads the words at both borders of the phrase on top of the stack:

        (h, c)_t = LSTM([e_{i−1}; e_i; e_j; e_{j+1}], (h, c)_{t−1})     logits_t = h_t W_p + b_p

    Before transition t that phrase has the words i to j, and word j + 1 is the first of the buffer. The vectors e are
    this layer's own; where there is no such word, e is that of padding; while the stack is empty, e_i is that of the
    first word too. So parsing does not depend on what the
    composition has learned, and only the parser learns from whether a parse was right (Havrylov et al. 2019,
    arXiv:1902.09393, "disjoint syntax and semantics"). Words at borders are what parsers of spans read (Cross & Huang
    2016, arXiv:1612.06475, section 3).

    Args:
        vocabulary_size: number of word ids, 0 for padding.
        units: size of h, of c and of the vectors e.
        reduce_bias: what b_p has for REDUCE before training. The larger, the more trees branch to the left at first.
    """

    def __init__(self, vocabulary_size: int, units: int, reduce_bias: float = 0.0, **options: Any):
        super().__init__(autocast=False, **options)
        self.units = units
        self.reduce_bias = reduce_bias
        self.E = Embedding(vocabulary_size, units, name="E", dtype=self.dtype_policy.name)
        self.cell = LSTMCell(units, name="cell", dtype=self.dtype_policy.name)

    def build(self, input_shape: Any = None) -> None:
        """`input_shape` has no effect."""
        self.E.build(None)
        self.cell.build((None, BORDERS * self.units))
        self.W_p = self.add_weight(name="W_p", shape=(self.units, 2), initializer="glorot_uniform")
        self.b_p = self.add_weight(
            name="b_p", shape=(2,), initializer=lambda shape, dtype: tf.constant([0.0, self.reduce_bias], dtype)
        )

    def call(self, words: tf.Tensor, transitions: tf.Tensor) -> tf.Tensor:
        """The logits of SHIFT and REDUCE before every transition of given trees, legal or not.

        Args:
            words: int32 [sentences, words], padded with 0.
            transitions: int32 [sentences, steps], padded with PAD.

        Returns:
            float [sentences, steps, 2].
        """
        read = tf.gather(_padded(words), borders_of_top(transitions) + 1, batch_dims=1)
        e = self.E(tf.transpose(read, [1, 0, 2]))
        e = tf.reshape(e, tf.concat([tf.shape(e)[:2], [BORDERS * self.units]], axis=0))

        def step(inputs, states, invariants):
            states = self.cell.step(inputs[0], states, invariants)
            return states[:1], states

        (h,), _ = recur(
            step,
            inputs=(self.cell.project(e),),
            states=tuple(self.cell.get_initial_state(tf.shape(words)[0])),
            weights=self.cell.loop_weights(),
            output_sizes=(self.units,),
            constants=self.cell.loop_constants(),
        )
        return tf.transpose(self._logits(h), [1, 0, 2])

    def parse(self, words: tf.Tensor, seed: tf.Tensor | None = None) -> tf.Tensor:
        """The transitions that the tracker chooses; there is no gradient.

        SHIFT is legal while words remain, REDUCE while two phrases lie on the stack. The stack holds where each of its
        phrases begins. Rows are int64, as in `tfnmt.layers.trees.parser`.

        Args:
            words: int32 [sentences, words], padded with 0.
            seed: int32 [2]: transitions are drawn from their probabilities. None: the most probable ones.

        Returns:
            int32 [sentences, 2 · words − 1], PAD after a sentence's tree is complete.
        """
        sentences, width = tf.shape(words, tf.int64)[0], tf.shape(words, tf.int64)[1]
        steps = tf.maximum(2 * tf.shape(words)[1] - 1, 1)
        lengths = tf.math.count_nonzero(words, axis=1)
        projected = self._projected_borders(words)
        invariants = invariants_for_one_step(self.cell.loop_weights(), self.cell.loop_constants())
        noise = None
        if seed is not None:
            noise = gumbel_noise(seed, steps, tf.shape(words)[0], projected.dtype)
        row = tf.range(sentences)
        first_of_row = row[:, tf.newaxis] * ((width + 2) * BORDERS) + tf.range(BORDERS, dtype=tf.int64)

        def body(t, position, size, starts, states, taken):
            start = tf.gather_nd(starts, tf.stack([row, tf.maximum(size - 1, 0)], axis=1))
            borders = tf.stack([start - 1, start, position - 1, position], axis=1)
            inputs = tf.reduce_sum(tf.gather(projected, first_of_row + (borders + 1) * BORDERS), axis=1)
            states = self.cell.step(inputs + invariants["b"], states, invariants)
            legal = tf.stack([position < lengths, size > 1], axis=1)
            scores = tf.where(legal, self._logits(states[0]), ILLEGAL)
            if noise is not None:
                scores += noise[t]
            reduces = (tf.argmax(scores, axis=1) == 1) & legal[:, 1]
            shifts = legal[:, 0] & ~reduces
            # A REDUCE leaves the left phrase's beginning where it is; the last column is for all that do not SHIFT.
            at = tf.stack([row, tf.where(shifts, size, width)], axis=1)
            starts = tf.tensor_scatter_nd_update(starts, at, position)
            shifted, reduced = tf.cast(shifts, tf.int64), tf.cast(reduces, tf.int64)
            taken = taken.write(t, SHIFT * shifted + REDUCE * reduced)
            return t + 1, position + shifted, size + shifted - reduced, starts, states, taken

        nothing = tf.zeros_like(lengths)
        starts = tf.zeros(tf.stack([sentences, width + 1]), tf.int64)
        states = tuple(self.cell.get_initial_state(tf.shape(words)[0]))
        taken = tf.TensorArray(tf.int64, size=steps, element_shape=[None])
        loop_state = (0, nothing, nothing, starts, states, taken)
        *_, taken = tf.while_loop(lambda t, *_: t < steps, body, loop_state)
        return tf.cast(tf.transpose(taken.stack()), tf.int32)

    def _projected_borders(self, words):
        """eW of every word, with padding on both sides, for each of the borders that it may be: float [sentences ·
        (words + 2) · 4, 4 · units], without b."""
        W = tf.reshape(cast_matrix(self.cell, self.cell.W), [BORDERS, self.units, -1])
        W = tf.reshape(tf.transpose(W, [1, 0, 2]), [self.units, BORDERS * self.cell.gates * self.units])
        return tf.reshape(times(self.E(_padded(words)), W), [-1, self.cell.gates * self.units])

    def _logits(self, h):
        return times(h, cast_matrix(self, self.W_p)) + tf.cast(self.b_p, h.dtype)

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        options = {"vocabulary_size": self.E.input_dim, "units": self.units, "reduce_bias": self.reduce_bias}
        return {**super().get_config(), **options}


def _padded(words):
    """Words with one of padding before and after each sentence."""
    return tf.pad(words, [[0, 0], [1, 1]])
