"""Batch compaction: finished sentences are removed from the batch, so that no step is computed for them.

A search takes as many steps as its longest result; most sentences are finished earlier. The search keeps tensors of the
active sentences only, k rows for each, in the order of the batch, and `sentence_indices`, int64 [active]: which
sentences of the batch they are. Integers are int64 in the loops of searches: GPUs compute with them, whereas most
operations of int32 are the host's, which would wait for the GPU in every one of them.
"""

from typing import Any

import tensorflow as tf

COMPACTION_PART = 8
"""Compaction copies every tensor, which costs about one step: it waits until 1/8 of the rows is finished."""


def remove_finished(
    finished: tf.Tensor, sentence_indices: tf.Tensor, k: int, by_sentence: Any, by_row: Any
) -> tuple[tf.Tensor, Any, Any]:
    """Remove finished sentences, if they are at least 1/`COMPACTION_PART` of the active ones.

    Args:
        finished: bool [active].
        sentence_indices: int64 [active].
        k: rows of each sentence.
        by_sentence: any structure of tensors [active, ...].
        by_row: any structure of tensors [active · k, ...].

    Returns:
        (sentence_indices, by_sentence, by_row) of the sentences that remain.
    """
    active = tf.size(finished)
    removed = tf.math.count_nonzero(finished, dtype=tf.int32)

    def compacted():
        remaining = tf.where(~finished)[:, 0]  # only here: its size is what a GPU would be waited for in every step
        rows = tf.reshape(rows_of(remaining, k), [-1])
        indices_and_sentences = tf.nest.map_structure(
            lambda x: tf.gather(x, remaining), (sentence_indices, by_sentence)
        )
        return *indices_and_sentences, tf.nest.map_structure(lambda x: tf.gather(x, rows), by_row)

    enough = removed >= tf.maximum(1, -(-active // COMPACTION_PART))  # rounded up
    return tf.cond(enough, compacted, lambda: (sentence_indices, by_sentence, by_row))


def rows_of(sentence_indices: tf.Tensor, k: int) -> tf.Tensor:
    """The rows of these sentences in the whole batch, where each has k: int [active, k]."""
    return k * sentence_indices[:, tf.newaxis] + tf.range(k, dtype=sentence_indices.dtype)


def scatter_rows(x: tf.Tensor, rows: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """x [active rows, ...] at the given rows of the whole batch, zeros elsewhere: [count, ...]."""
    rows = tf.cast(rows[:, tf.newaxis], tf.int32)  # the type of the shape, which the host has
    return tf.scatter_nd(rows, x, tf.concat([[count], tf.shape(x)[1:]], axis=0))


def update_sentences(whole: Any, sentence_indices: tf.Tensor, x: Any) -> Any:
    """`whole` [batch, ...] with x [active, ...] at these sentences; both any structure of tensors."""
    indices = sentence_indices[:, tf.newaxis]
    return tf.nest.map_structure(lambda a, b: tf.tensor_scatter_nd_update(a, indices, b), whole, x)
