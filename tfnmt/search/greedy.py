"""Greedy search: the most probable word at each place."""

import tensorflow as tf


def greedy_search(step, states, start, end, maximum_lengths):
    """Take the most probable next word until `end`.

    Args:
        step: `step(ids, states) -> (log_probabilities, states)`: int32 [batch] and a tuple of tensors
            [batch, ...] to [batch, vocabulary_size] and the next states.
        states: the states before the first word.
        start, end: ids of the word before the first and after the last.
        maximum_lengths: int32 [batch], words of each result at most, without `end`.

    Returns:
        (ids, scores): int32 [batch, length], `end` and after it 0 where a result is shorter, and float
        [batch], Σ log p of the words and of `end`.
    """
    batch = tf.shape(maximum_lengths)[0]
    longest = tf.reduce_max(maximum_lengths)
    words = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[None])

    def unfinished(i, ids, states, scores, done, words):
        return (i == 0) | ((i < longest) & ~tf.reduce_all(done))

    def body(i, ids, states, scores, done, words):
        log_probabilities, states = step(ids, states)
        ids = tf.argmax(log_probabilities, axis=-1, output_type=tf.int32)
        scores += tf.where(done, 0.0, tf.reduce_max(log_probabilities, axis=-1))
        ids = tf.where(done, 0, ids)
        words = words.write(i, ids)
        return i + 1, ids, states, scores, done | (ids == end) | (i + 1 >= maximum_lengths), words

    first = (0, tf.fill([batch], start), states, tf.zeros([batch]), maximum_lengths <= 0, words)
    *_, scores, _, words = tf.while_loop(unfinished, body, first)
    return tf.transpose(words.stack()), scores
