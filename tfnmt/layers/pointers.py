"""From transitions to rows: where in the table of `tfnmt.layers.stack` every step finds and leaves its nodes.

Integers only, and no loop: what a stack holds when is known from the transitions alone.
"""

import tensorflow as tf

from tfnmt.text.parses import NOTHING, REDUCE, SHIFT


def plan_by_height(transitions, left, right, height, words):
    """The parents of one height make one iteration, over the whole batch.

    Args:
        transitions, left, right, height: int32 [sentences, steps], as `tfnmt.text.parses` has them, padded with 0.
        words: a scalar, the words of the longest sentence.

    Returns:
        A dictionary: "children" and "ends" for `grow`, and "rows" int32 [sentences, steps], the row of every node, 0
        for NOTHING.
    """
    parents = tf.where(transitions == REDUCE)
    order = tf.argsort(tf.gather_nd(height, parents), stable=True)
    parents = tf.gather(parents, order)
    iterations = tf.reduce_max(height)
    counts = tf.math.bincount(height, weights=None, minlength=iterations + 1, maxlength=iterations + 1)
    rows = _rows(transitions, left, parents, words)
    return {"children": _children(rows, left, right, parents), "ends": tf.cumsum(counts[1:]), "rows": rows}


def plan_by_step(transitions, words):
    """Step t of all sentences makes iteration t.

    Args:
        transitions: int32 [sentences, steps], padded with 0.
        words: a scalar, the words of the longest sentence.

    Returns:
        A dictionary: "children", "ends", "looks" and "whose" for `grow`, where the looks of a step are what lies,
        before it, first in the buffer, on top of the stack and below that; and "rows" as in `plan_by_height`.
    """
    left, right, first, top, second = pointers(transitions)
    parents = tf.where(tf.transpose(transitions == REDUCE))[:, ::-1]
    ends = tf.cumsum(tf.reduce_sum(tf.cast(transitions == REDUCE, tf.int32), axis=0))
    rows = _rows(transitions, left, parents, words)
    sentences = tf.range(tf.shape(transitions)[0])[:, tf.newaxis]
    remaining = first < tf.reduce_sum(tf.cast(transitions == SHIFT, tf.int32), axis=1, keepdims=True)
    first = tf.where(remaining, 1 + sentences * words + first, 0)
    with_nothing = tf.pad(rows, [[0, 0], [1, 0]])
    looks = [first] + [tf.gather(with_nothing, 1 + nodes, batch_dims=1) for nodes in (top, second)]
    return {
        "children": _children(rows, left, right, parents),
        "ends": ends,
        "looks": tf.transpose(tf.stack(looks, axis=-1), [1, 0, 2]),
        "whose": tf.cast(parents[:, 0], tf.int32),
        "rows": rows,
    }


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
    _, _, first, _, second = pointers(transitions)
    real = transitions != NOTHING
    words = tf.reduce_sum(tf.cast(transitions == SHIFT, tf.int32), axis=1, keepdims=True)
    return tf.stack([real & (first < words), real & (second >= 0)], axis=-1)


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


def _rows(transitions, left, parents, words):
    """The row of every node, int32 [sentences, steps]: leaves by sentence and word, parents in their order."""
    sentences = tf.shape(transitions)[0]
    leaves = 1 + words * tf.range(sentences)[:, tf.newaxis] + left
    places = 1 + words * sentences + tf.range(tf.shape(parents)[0])
    made = tf.scatter_nd(parents, places, tf.shape(transitions, out_type=parents.dtype))
    return tf.where(transitions == SHIFT, leaves, made)


def _children(rows, left, right, parents):
    """The rows of the children of all parents: int32 [parents, 2]."""
    pairs = tf.gather_nd(tf.stack([left, right], axis=-1), parents)
    return tf.gather(tf.gather(rows, parents[:, 0]), pairs, batch_dims=1)
