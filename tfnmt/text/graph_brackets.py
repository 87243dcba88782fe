"""Binary brackets and transitions, one from the other, inside the graph; `tfnmt.text.brackets` says what they are."""

import tensorflow as tf

from tfnmt.text.brackets import NOTHING, REDUCE, SHIFT

_DEEPEST = 4096  # brackets that open, or close, at one word
_DOUBLINGS = 12  # 2 to the power of this is more than a chain of left children is long


def plain_words(texts):
    """Strings [batch] → the same without brackets, single spaces between the words."""
    tokens = tf.strings.split(texts)
    return tf.strings.reduce_join(tf.ragged.boolean_mask(tokens, ~_is_bracket(tokens)), axis=1, separator=" ")


def transitions_of(texts):
    """Strings [batch] in binary brackets → transitions int32 [batch, steps], padded with NOTHING.

    Raises:
        tf.errors.InvalidArgumentError: a text is no binary tree in brackets; when the graph runs.
    """
    tokens = tf.strings.split(texts)
    opens = tf.reduce_sum(tf.cast(tokens == "(", tf.int32), axis=1)
    closes = tf.reduce_sum(tf.cast(tokens == ")", tf.int32), axis=1)
    moves = tf.ragged.boolean_mask(tokens, tokens != "(")
    moves = tf.ragged.map_flat_values(lambda token: tf.where(token == ")", REDUCE, SHIFT), moves)
    moves = moves.to_tensor(NOTHING)
    depth = tf.cumsum(_change(moves), axis=1)
    # Every REDUCE finds two nodes and leaves one at least; at the end there is one.
    whole = tf.reduce_all((moves != REDUCE) | (depth >= 1), axis=1) & (tf.reduce_sum(_change(moves), axis=1) == 1)
    problem = "each text must be one binary tree in brackets, such as ( ( A dog ) runs )"
    with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(whole & (opens == closes)), [problem])]):
        return tf.identity(moves)


def brackets_of(words, transitions, left):
    """Words and transitions → text in binary brackets.

    Args:
        words: ragged string [batch, (words)].
        transitions, left: int32 [batch, steps], as `tfnmt.text.brackets.child_pointers` says, padded with 0.

    Returns:
        string [batch].
    """
    # The first word below each node: that of its left child, of whose left child, and so on, in doubled strides.
    steps = tf.zeros_like(transitions) + tf.range(tf.shape(transitions)[1])
    leftmost = tf.where(transitions == REDUCE, left, steps)
    for _ in range(_DOUBLINGS):
        leftmost = tf.gather(leftmost, leftmost, batch_dims=1)
    reduces = tf.cast(transitions == REDUCE, tf.int32)
    count = words.bounding_shape()[1]
    first_word = tf.gather(left, leftmost, batch_dims=1)
    opens = _counted(first_word, reduces, count)
    last_word = tf.cumsum(tf.cast(transitions == SHIFT, tf.int32), axis=1) - 1  # shifted when the node is made
    closes = _counted(tf.maximum(last_word, 0), reduces, count)
    before = tf.strings.substr("( " * _DEEPEST, tf.zeros_like(opens), 2 * tf.minimum(opens, _DEEPEST))
    after = tf.strings.substr(" )" * _DEEPEST, tf.zeros_like(closes), 2 * tf.minimum(closes, _DEEPEST))
    text = tf.strings.join([before, words.to_tensor(""), after])
    return tf.strings.reduce_join(tf.RaggedTensor.from_tensor(text, words.row_lengths()), axis=1, separator=" ")


def _is_bracket(tokens):
    return (tokens == "(") | (tokens == ")")


def _change(transitions):
    """By how much each makes the stack higher."""
    return tf.cast(transitions == SHIFT, tf.int32) - tf.cast(transitions == REDUCE, tf.int32)


def _counted(places, weights, size):
    """Σ of weights [batch, steps] by places [batch, steps]: int32 [batch, size]."""
    batch, size = tf.shape(places)[0], tf.cast(size, tf.int32)
    flat = places + size * tf.range(batch)[:, tf.newaxis]
    return tf.reshape(tf.math.unsorted_segment_sum(weights, flat, batch * size), [batch, size])
