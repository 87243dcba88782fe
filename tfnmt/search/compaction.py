"""Batch compaction: finished sentences are removed from the batch, so that no step is computed for them.

A search takes as many steps as its longest result; most sentences are finished earlier. The search keeps tensors of the
active sentences only, k rows for each, in the order of the batch, and `sentence_indices`, int32 [active]: which
sentences of the batch they are.
"""

from typing import Any

import tensorflow as tf

COMPACTION_FRACTION = 1 / 8
"""Compaction copies every tensor, which costs about one step: it waits until this fraction of the rows is finished."""


def remove_finished(
    finished: tf.Tensor, sentence_indices: tf.Tensor, k: int, by_sentence: Any, by_row: Any
) -> tuple[tf.Tensor, Any, Any]:
    """Remove finished sentences, if they are at least `COMPACTION_FRACTION` of the active ones.

    Args:
        finished: bool [active].
        sentence_indices: int32 [active].
        k: rows of each sentence.
        by_sentence: any structure of tensors [active, ...].
        by_row: any structure of tensors [active · k, ...].

    Returns:
        (sentence_indices, by_sentence, by_row) of the sentences that remain.
    """
    remaining = tf.where(~finished)[:, 0]
    active = tf.size(sentence_indices)
    removed = active - tf.size(remaining)

    def compacted():
        rows = tf.reshape(rows_of(remaining, k), [-1])
        indices_and_sentences = tf.nest.map_structure(
            lambda x: tf.gather(x, remaining), (sentence_indices, by_sentence)
        )
        return *indices_and_sentences, tf.nest.map_structure(lambda x: tf.gather(x, rows), by_row)

    enough = tf.cast(removed, tf.float32) >= COMPACTION_FRACTION * tf.cast(active, tf.float32)
    return tf.cond((removed > 0) & enough, compacted, lambda: (sentence_indices, by_sentence, by_row))


def rows_of(sentence_indices: tf.Tensor, k: int) -> tf.Tensor:
    """The rows of these sentences in the whole batch, where each has k: int [active, k]."""
    return k * sentence_indices[:, tf.newaxis] + tf.range(k, dtype=sentence_indices.dtype)


def scatter_rows(x: tf.Tensor, rows: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """x [active rows, ...] at the given rows of the whole batch, zeros elsewhere: [count, ...]."""
    return tf.scatter_nd(rows[:, tf.newaxis], x, tf.concat([[count], tf.shape(x)[1:]], axis=0))


def update_sentences(whole: Any, sentence_indices: tf.Tensor, x: Any) -> Any:
    """`whole` [batch, ...] with x [active, ...] at these sentences; both any structure of tensors."""
    indices = sentence_indices[:, tf.newaxis]
    return tf.nest.map_structure(lambda a, b: tf.tensor_scatter_nd_update(a, indices, b), whole, x)
