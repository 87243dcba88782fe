"""From transitions to rows: where in the table of `tfnmt.layers.trees.grow` every step finds and leaves its nodes.

Integers only, and no loop: what a stack holds when is known from the transitions alone.
"""

import tensorflow as tf

from tfnmt.text.brackets import NOTHING, REDUCE, SHIFT


def plan_by_height(transitions, left, right, height):
    """The parents of one height make one iteration, over the whole batch.

    Args:
        transitions, left, right, height: int32 [sentences, steps], as `tfnmt.text.brackets` has them, padded with 0.

    Returns:
        A dictionary: "children" and "ends" for `grow`, and "rows" int32 [sentences, steps], the row of every node, 0
        for NOTHING.
    """
    parents = tf.where(transitions == REDUCE)
    order = tf.argsort(tf.gather_nd(height, parents), stable=True)
    parents = tf.gather(parents, order)
    iterations = tf.reduce_max(height)
    counts = tf.math.bincount(height, minlength=iterations + 1, maxlength=iterations + 1)
    rows = _rows(transitions, left, parents, first_rows(_count(transitions == SHIFT)))
    return {"children": _children(rows, left, right, parents), "ends": tf.cumsum(counts[1:]), "rows": rows}


def plan_by_step(transitions):
    """Step t of all sentences makes iteration t.

    Args:
        transitions: int32 [sentences, steps], padded with 0.

    Returns:
        A dictionary: "children", "ends", "looks", "look_ends" and "whose" for `grow`, where the looks of a step are
        what lies, before it, first in the buffer, on top of the stack and below that; "rows" as in `plan_by_height`;
        and "places" int32 [sentences, steps], where each step's states lie among those that `grow` returns.
    """
    order, rank = longest_first(_count(transitions != NOTHING))
    starts = tf.gather(first_rows(_count(transitions == SHIFT)), order)
    transitions = tf.gather(transitions, order)
    real, reduces = tf.transpose(transitions != NOTHING), tf.transpose(transitions == REDUCE)
    left, right, first, top, second = pointers(transitions)
    parents = tf.where(reduces)[:, ::-1]
    rows = _rows(transitions, left, parents, starts)
    with_nothing = tf.pad(rows, [[0, 0], [1, 0]])
    remains = first < _count(transitions == SHIFT)[:, tf.newaxis]
    looks = [tf.where(remains, starts[:, tf.newaxis] + first, 0)]
    looks += [tf.gather(with_nothing, 1 + nodes, batch_dims=1) for nodes in (top, second)]
    look_ends = tf.cumsum(_count(real))
    places = (look_ends - _count(real))[tf.newaxis, :] + rank[:, tf.newaxis]
    return {
        "children": _children(rows, left, right, parents),
        "ends": tf.cumsum(_count(reduces)),
        "looks": tf.boolean_mask(tf.transpose(tf.stack(looks, axis=-1), [1, 0, 2]), real),
        "look_ends": look_ends,
        "whose": parents[:, 0],
        "rows": tf.gather(rows, rank),
        "places": tf.where(tf.gather(tf.transpose(real), rank), places, 0),
    }


def longest_first(lengths):
    """Numbers of sentences in the order of falling lengths [sentences], and where in that order each sentence is."""
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    return order, tf.math.invert_permutation(order)


def first_rows(words):
    """The row of each sentence's first word, where sentences have so many words: int32 [sentences]."""
    return 1 + tf.cumsum(words, exclusive=True)


def pointers(transitions):
    """What every step finds: its children, and before it, the buffer's first word and the stack's two highest nodes.

    Args:
        transitions: int32 [sentences, steps], padded with 0.

    Returns:
        (left, right, first, top, second), int32 [sentences, steps]. For REDUCE, left and right are the nodes that
        become one; for SHIFT both are the word taken. `first` is a word, and the number of words where none remains;
        `top` and `second` are nodes, −1 where the stack is too low.
    """
    shifted = tf.cast(transitions == SHIFT, tf.int32)
    depth = tf.cumsum(shifted - tf.cast(transitions == REDUCE, tf.int32), axis=1)
    first = tf.cumsum(shifted, axis=1, exclusive=True)
    second = tf.pad(_below(depth), [[0, 0], [1, 0]], constant_values=-1)[:, :-1]
    top = tf.zeros_like(transitions) + tf.range(-1, tf.shape(transitions)[1] - 1)
    left = tf.where(transitions == SHIFT, first, second)
    right = tf.where(transitions == SHIFT, first, top)
    return left, right, first, top, second


def legal_moves(transitions):
    """Which moves were legal before each step of these trees.

    Args:
        transitions: int32 [sentences, steps], padded with 0.

    Returns:
        bool [sentences, steps, 2]: whether SHIFT (a word remained) and REDUCE (two nodes lay on the stack) were;
        neither in padding.
    """
    shifted = tf.cast(transitions == SHIFT, tf.int32)
    depth = tf.cumsum(shifted - tf.cast(transitions == REDUCE, tf.int32), axis=1, exclusive=True)
    remains = tf.cumsum(shifted, axis=1, exclusive=True) < tf.reduce_sum(shifted, axis=1, keepdims=True)
    real = transitions != NOTHING
    return tf.stack([real & remains, real & (depth > 1)], axis=-1)


def _below(depth):
    """The node that lies on the stack just below each node: the last before it after which the stack was lower by one.

    Args:
        depth: int32 [sentences, steps], nodes on the stack after each step.

    Returns:
        int32 [sentences, steps], −1 where none does.
    """
    steps = tf.shape(depth)[1]
    # Numbers that sort by depth, then by step: the node sought is the last one before (depth − 1, step).
    keys = depth * steps + tf.range(steps)
    ordered = tf.sort(keys, axis=1)
    places = tf.searchsorted(ordered, keys - steps) - 1
    found = tf.gather(ordered, tf.maximum(places, 0), batch_dims=1)
    return tf.where(depth > 1, found % steps, -1)


def _rows(transitions, left, parents, starts):
    """The row of every node, int32 [sentences, steps]: leaves from their sentence's start, then parents in order."""
    leaves = _count(transitions == SHIFT, axis=None)
    places = 1 + leaves + tf.range(tf.shape(parents)[0])
    made = tf.scatter_nd(parents, places, tf.shape(transitions, out_type=parents.dtype))
    return tf.where(transitions == SHIFT, starts[:, tf.newaxis] + left, made)


def _children(rows, left, right, parents):
    """The rows of the children of all parents: int32 [parents, 2]."""
    pairs = tf.gather_nd(tf.stack([left, right], axis=-1), parents)
    return tf.gather(tf.gather(rows, parents[:, 0]), pairs, batch_dims=1)


def _count(mask, axis=1):
    return tf.math.count_nonzero(mask, axis=axis, dtype=tf.int32)
