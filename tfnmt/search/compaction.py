"""Sentences that are finished leave a search, so that no word is computed for them.

Of a batch some sentences are finished early; the longest takes as long as ever. What a search has of those that are
still present are tensors of fewer and fewer rows: a fixed number of rows for each sentence, in the order of the batch.
"""

import tensorflow as tf

ONE_IN = 8  # gathering what stays costs a step's time or so: worth it once so many of those present are finished


def leave(finished, numbers, k, of_sentences, of_rows):
    """Drop what belongs to finished sentences, if enough of those that are present are finished.

    Args:
        finished: bool [present].
        numbers: int32 [present], of the sentences in the batch.
        k: rows of each sentence.
        of_sentences: any structure of tensors [present, ...].
        of_rows: any structure of tensors [present · k, ...].

    Returns:
        (numbers, of_sentences, of_rows) of those who stay.
    """
    staying = tf.where(~finished)[:, 0]
    leaving = tf.size(numbers) - tf.size(staying)

    def those_who_stay():
        rows = tf.reshape(rows_of(staying, k), [-1])
        of_each = tf.nest.map_structure(lambda x: tf.gather(x, staying), (numbers, of_sentences))
        return *of_each, tf.nest.map_structure(lambda x: tf.gather(x, rows), of_rows)

    enough = (leaving > 0) & (ONE_IN * leaving >= tf.size(numbers))
    return tf.cond(enough, those_who_stay, lambda: (numbers, of_sentences, of_rows))


def rows_of(numbers, k):
    """The rows that sentences of these numbers have in the whole batch, k for each: int32 [present, k]."""
    return k * numbers[:, tf.newaxis] + tf.range(k, dtype=numbers.dtype)


def in_batch(x, rows, count):
    """x [present rows, ...] at its rows among `count` ones, zeros elsewhere: [count, ...]."""
    return tf.scatter_nd(rows[:, tf.newaxis], x, tf.concat([[count], tf.shape(x)[1:]], axis=0))


def updated(whole, numbers, x):
    """`whole` [batch, ...] with x [present, ...] at the sentences of these numbers; both any structure."""
    return tf.nest.map_structure(lambda a, b: tf.tensor_scatter_nd_update(a, numbers[:, tf.newaxis], b), whole, x)
