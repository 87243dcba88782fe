"""From transitions to a schedule: which nodes each iteration of `tfnmt.layers.trees.loop` composes, and where they lie.

All of it is integers, computed without a loop: what a stack holds at each step is known from the transitions alone
(`tfnmt.text.transitions`).
"""

from typing import NamedTuple

import tensorflow as tf

from tfnmt.devices import on_cpu
from tfnmt.text.brackets import PAD, REDUCE, SHIFT
from tfnmt.text.transitions import buffer_reads, child_pointers, depths, stack_reads


class Schedule(NamedTuple):
    """The order in which a batch's phrases are composed, and the rows of the node table; all int32.

    Parents are those that REDUCE makes, in the order of the iterations.
    """

    children: tf.Tensor
    """[parents, 2], the rows of each parent's left and right child."""
    ends: tf.Tensor
    """[iterations], how many parents are composed when each iteration is over."""
    rows: tf.Tensor
    """[sentences, steps], the row of every node; 0 for PAD."""
    reads: tf.Tensor | None = None
    """[all_steps, 3], the rows that the tracker reads in each step of each sentence: the first of the buffer, the top
    of the stack and what lies below it, 0 for nothing. Those of the first iteration come first, then the second's, …"""
    read_ends: tf.Tensor | None = None
    """[iterations], how many reads are done when each iteration is over."""
    sentence_indices: tf.Tensor | None = None
    """[parents], the sentence of each parent, among the sentences in the order of falling lengths."""
    state_positions: tf.Tensor | None = None
    """[sentences, steps], where each step lies among the reads; 0 for PAD."""


@on_cpu
def schedule_by_depth(transitions: tf.Tensor) -> Schedule:
    """All phrases of one depth make one iteration, over the whole batch, the deepest first.

    There are as many iterations as the highest tree has levels. The tracker is left out.

    Args:
        transitions: int32 [sentences, steps], padded with PAD.
    """
    parents = tf.where(transitions == REDUCE)
    depth = tf.gather_nd(depths(transitions), parents)
    iteration = tf.reduce_max(depth) - depth
    parents = tf.gather(parents, tf.argsort(iteration, stable=True))
    ends = tf.cumsum(tf.math.bincount(iteration))
    left, right = child_pointers(transitions)
    rows = _rows(transitions, left, parents, first_rows(_count(transitions == SHIFT)))
    return Schedule(_children(rows, left, right, parents), ends, rows)


@on_cpu
def schedule_by_step(transitions: tf.Tensor) -> Schedule:
    """Step t of all sentences makes iteration t, so that a tracker can read before each.

    Args:
        transitions: int32 [sentences, steps], padded with PAD.
    """
    order, rank = longest_first(_count(transitions != PAD))
    starts = tf.gather(first_rows(_count(transitions == SHIFT)), order)
    transitions = tf.gather(transitions, order)
    real, reduces = tf.transpose(transitions != PAD), tf.transpose(transitions == REDUCE)
    parents = tf.where(reduces)[:, ::-1]
    left, right = child_pointers(transitions)
    rows = _rows(transitions, left, parents, starts)

    word = buffer_reads(transitions)
    remains = word < _count(transitions == SHIFT)[:, tf.newaxis]
    first = tf.where(remains, starts[:, tf.newaxis] + word, 0)
    rows_or_nothing = tf.pad(rows, [[0, 0], [1, 0]])  # node −1, which is none, has row 0
    stack = (tf.gather(rows_or_nothing, 1 + nodes, batch_dims=1) for nodes in stack_reads(transitions))
    reads = tf.transpose(tf.stack([first, *stack], axis=-1), [1, 0, 2])
    reading = _count(real)
    read_ends = tf.cumsum(reading)
    positions = (read_ends - reading)[tf.newaxis, :] + rank[:, tf.newaxis]
    return Schedule(
        children=_children(rows, left, right, parents),
        ends=tf.cumsum(_count(reduces)),
        rows=tf.gather(rows, rank),
        reads=tf.boolean_mask(reads, real),
        read_ends=read_ends,
        sentence_indices=tf.cast(parents[:, 0], tf.int32),
        state_positions=tf.where(tf.gather(tf.transpose(real), rank), positions, 0),
    )


def longest_first(lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """(order, rank), int32 [sentences]: the indices of sentences by falling lengths, and its inverse."""
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    return order, tf.math.invert_permutation(order)


def first_rows(words: tf.Tensor) -> tf.Tensor:
    """The row of each sentence's first word, where sentences have so many words: int32 [sentences]."""
    return 1 + tf.cumsum(words, exclusive=True)


def _rows(transitions, left, parents, starts):
    """The row of every node, int32 [sentences, steps]: leaves from their sentence's start, then parents in order."""
    leaves = _count(transitions == SHIFT, axis=None)
    after_leaves = 1 + leaves + tf.range(tf.shape(parents)[0])
    rows = tf.scatter_nd(parents, after_leaves, tf.shape(transitions, out_type=parents.dtype))
    return tf.where(transitions == SHIFT, starts[:, tf.newaxis] + left, rows)


def _children(rows, left, right, parents):
    """The rows of the children of all parents: int32 [parents, 2]."""
    children = tf.stack([tf.gather(rows, side, batch_dims=1) for side in (left, right)], axis=-1)
    return tf.gather_nd(children, parents)


def _count(mask, axis=1):
    return tf.math.count_nonzero(mask, axis=axis, dtype=tf.int32)
