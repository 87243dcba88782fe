"""Records -> the batches that `tfnmt.data.pair_batches` describes, without a tokenizer.

Pairs stay serialized while they are filtered, shuffled and put into batches: only their lengths are read. The ids are
decoded last, a batch at a time, so that batches that are skipped cost little.
"""

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from tfnmt.data import pair_lengths
from tfnmt.data.batching_configuration import BatchingConfiguration
from tfnmt.data.pair_batches import repeatable
from tfnmt.data.pair_lengths import Dropped, LengthCounter
from tfnmt.data.records import ParallelRecords
from tfnmt.errors import UserError
from tfnmt.text.framing import padded_batch

# Shards that are read in turns, so that the shuffle buffer holds pairs of so many places of the corpus.
_SHARDS_AT_ONCE = 16
_READ_IN_TURN = 16
_FILTERED_AT_ONCE = 4096
_IDS = {"source": tf.io.RaggedFeature(tf.int64), "target": tf.io.RaggedFeature(tf.int64)}
_LENGTHS = {"lengths": tf.io.FixedLenFeature([2], tf.int64)}


def record_batches(
    records: ParallelRecords,
    configuration: BatchingConfiguration,
    seed: int,
    epoch: tf.Variable | int = 0,
    skip: int = 0,
) -> tf.data.Dataset:
    """One epoch of shuffled batches, the same ones whenever `seed` and `epoch` are the same.

    The order of the shards is drawn; some of them are read in turns; a buffer of `configuration.shuffle_buffer` pairs
    is shuffled.

    Args:
        records: the pairs.
        configuration: a `BatchingConfiguration`.
        seed, epoch: determine the order. If `epoch` is a variable (int64), its value when iteration starts counts.
        skip: batches left out at the beginning of the epoch, those that an interrupted run has trained on. Their pairs
            are read, but not decoded.

    Returns:
        Batches as `tfnmt.data.pair_batches` describes them; every iteration over them is one epoch.
    """
    shards = records.shards()
    boundaries, batch_sizes = pair_lengths.buckets(configuration)

    @tf.autograph.experimental.do_not_convert
    def kept(serialized: tf.Tensor):
        lengths = tf.io.parse_example(serialized, _LENGTHS)["lengths"]
        source, target = lengths[:, 0], lengths[:, 1]
        is_kept = pair_lengths.outcomes(source, target, configuration) == pair_lengths.KEPT
        length = tf.cast(pair_lengths.bucket_length(source, target), tf.int32)
        return tf.boolean_mask(serialized, is_kept), tf.boolean_mask(length, is_kept)

    @tf.autograph.experimental.do_not_convert
    def one_epoch(_):
        tf.random.set_seed(2 * seed + 1)  # of this function's graph alone; shuffle combines it with its own
        order = tf.cast(tf.identity(epoch), tf.int64)
        names = tf.data.Dataset.from_tensor_slices(shards)
        names = names.shuffle(len(shards), seed=order, reshuffle_each_iteration=False)
        serialized = names.interleave(
            lambda name: tf.data.TFRecordDataset(name, buffer_size=2**20),
            cycle_length=_SHARDS_AT_ONCE,
            block_length=_READ_IN_TURN,
        )
        shuffled = serialized.shuffle(configuration.shuffle_buffer, seed=order, reshuffle_each_iteration=False)
        measured = shuffled.batch(_FILTERED_AT_ONCE).map(kept, num_parallel_calls=2).unbatch()
        bucketed = measured.bucket_by_sequence_length(lambda serialized, length: length, boundaries, batch_sizes)
        return bucketed.skip(skip).map(_decoded, num_parallel_calls=2)

    return repeatable(tf.data.Dataset.range(1).flat_map(one_epoch))


def count_dropped_records(records: ParallelRecords, configuration: BatchingConfiguration) -> Dropped:
    """Count what `record_batches` keeps and drops; reads the index alone.

    Raises:
        UserError: nothing is left to train on.
    """
    source, target, pairs, first = np.array(records.index.lengths, np.int64).reshape(-1, 4).T
    counter = LengthCounter(configuration)
    outcome = pair_lengths.outcomes(tf.constant(source), tf.constant(target), configuration).numpy()
    length = pair_lengths.bucket_length(tf.constant(source), tf.constant(target)).numpy()
    counter.add(outcome, length, pairs, first + 1)
    dropped = counter.dropped("record")
    if not dropped.kept:
        raise UserError(f"{records.directory}: no pair is left to train on: {dropped}")
    return dropped


def read_ids(records: ParallelRecords, pairs_at_once: int) -> Iterator[tuple[tf.RaggedTensor, tf.RaggedTensor]]:
    """The ids of all pairs in the order of the corpus: ragged int32 [pairs, (length)] of each side."""

    with records.broken_shards_named():
        yield from tf.data.TFRecordDataset(records.shards(), buffer_size=2**20).batch(pairs_at_once).map(_ids)


def _ids(serialized: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Serialized pairs [pairs] -> the ids of both sides, ragged int32 [pairs, (length)]."""
    parsed = tf.io.parse_example(serialized, _IDS)
    source, target = (tf.cast(parsed[name], tf.int32) for name in ("source", "target"))
    return source, target


@tf.autograph.experimental.do_not_convert
def _decoded(serialized: tf.Tensor, _):
    """Serialized pairs [batch] -> a padded batch."""
    return padded_batch(*_ids(serialized))
