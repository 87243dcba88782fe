"""Pairs of sentences -> batches of ids: encoded in the graph, filtered, shuffled and bucketed by length.

A batch is `({"source": int32 [batch, source_length], "target": int32 [batch, target_length]}, labels)`: what the
encoder reads, what the decoder reads, and what it is to predict, int32 [batch, target_length]; framed with START and
END by `tfnmt.text.framing` and padded on the right with PADDING.
"""

import numpy as np
import tensorflow as tf

from tfnmt.data import pair_lengths
from tfnmt.data.batching_configuration import BatchingConfiguration
from tfnmt.data.pair_lengths import Dropped, LengthCounter
from tfnmt.data.progress import log_progress
from tfnmt.data.subword_sampling import drawn_batches, require_subwords
from tfnmt.errors import UserError
from tfnmt.text import framing
from tfnmt.text.framing import framed, padded_batch
from tfnmt.text.tokenizers import Tokenizer

# Pairs encoded at a time: one call of a tokenizer costs as much as a hundred sentences.
_ENCODED_AT_ONCE = 512
LONGEST_TARGET = 16_000
"""Target tokens of a batch in evaluation at most: the scores of all words for each of them must fit in memory."""


def training_batches(
    pairs: tf.data.Dataset,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    configuration: BatchingConfiguration,
    seed: int,
    epoch: tf.Variable | int = 0,
    skip: int = 0,
    number: int | None = None,
) -> tf.data.Dataset:
    """One epoch of shuffled batches, the same ones whenever `seed` and `epoch` are the same.

    Args:
        pairs: (source, target), scalar strings.
        source_tokenizer, target_tokenizer: of each side.
        configuration: a `BatchingConfiguration`; with `subword_sampling`, the tokenizers are `SubwordTokenizer`s.
        seed, epoch: determine the order, and the subwords that are drawn. If `epoch` is a variable (int64), its value
            when iteration starts counts.
        skip: batches left out at the beginning of the epoch, those that an interrupted run has trained on.
        number: batches of an epoch, as `count_dropped` counts them, if Keras should know.

    Returns:
        Batches as described above; every iteration over them is one epoch.

    Raises:
        UserError: subwords are to be drawn, and a tokenizer has words.
    """
    tokenizers = source_tokenizer, target_tokenizer
    require_subwords(tokenizers, configuration.subword_sampling)

    @tf.autograph.experimental.do_not_convert
    def filtered(source: tf.Tensor, target: tf.Tensor):
        source_ids, target_ids, outcome = _filter(source, target, source_tokenizer, target_tokenizer, configuration)
        kept = tf.reshape(tf.where(outcome == pair_lengths.KEPT), [-1])
        return framed(tf.gather(source_ids, kept), tf.gather(target_ids, kept))

    @tf.autograph.experimental.do_not_convert
    def kept_texts(source: tf.Tensor, target: tf.Tensor):
        _, _, outcome = _filter(source, target, source_tokenizer, target_tokenizer, configuration)
        return tf.boolean_mask(source, outcome == pair_lengths.KEPT), tf.boolean_mask(
            target, outcome == pair_lengths.KEPT
        )

    @tf.autograph.experimental.do_not_convert
    def one_epoch(_):
        tf.random.set_seed(2 * seed + 1)  # of this function's graph alone; shuffle combines it with its own
        order = tf.cast(tf.identity(epoch), tf.int64)
        shuffled = pairs.shuffle(configuration.shuffle_buffer, seed=order, reshuffle_each_iteration=False)
        chunks = shuffled.batch(_ENCODED_AT_ONCE)
        if configuration.subword_sampling is not None:
            texts = chunks.map(kept_texts, num_parallel_calls=2).unbatch()
            return drawn_batches(texts, tokenizers, configuration, [tf.constant(seed, tf.int64), order]).skip(skip)
        encoded = chunks.map(filtered, num_parallel_calls=2)
        return _bucketed(encoded.unbatch(), configuration).skip(skip)

    batches = tf.data.Dataset.range(1).flat_map(one_epoch)
    if number is not None:
        batches = batches.apply(tf.data.experimental.assert_cardinality(number - skip))
    return repeatable(batches)


def evaluation_batches(
    pairs: tf.data.Dataset,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    batch_size: int,
    maximum_length: int = 400,
) -> tf.data.Dataset:
    """Batches, as described above, of `batch_size` pairs each, in the order of the file; of fewer where targets are so
    long that the batch would have more than `LONGEST_TARGET` target tokens, with padding.

    None are dropped; sources are truncated to `maximum_length` tokens, and targets to `LONGEST_TARGET`. If the
    number of pairs is known, they are read once, so that the number of batches is known too.
    """

    @tf.autograph.experimental.do_not_convert
    def parts(source: tf.Tensor, target: tf.Tensor):
        target_ids = framing.encode(target_tokenizer, target, LONGEST_TARGET)
        longest = tf.maximum(tf.reduce_max(target_ids.row_lengths()), 1)
        return tf.data.Dataset.from_tensor_slices((source, target)).batch(tf.maximum(LONGEST_TARGET // longest, 1))

    @tf.autograph.experimental.do_not_convert
    def padded(source: tf.Tensor, target: tf.Tensor):
        source_ids = framing.encode(source_tokenizer, source, maximum_length)
        target_ids = framing.encode(target_tokenizer, target, LONGEST_TARGET)
        return padded_batch(source_ids, target_ids)

    batches = pairs.batch(batch_size).flat_map(parts)
    if pairs.cardinality() >= 0:  # Keras, too, should know the number
        batches = batches.apply(tf.data.experimental.assert_cardinality(sum(1 for _ in batches)))
    return repeatable(batches.map(padded))


def count_dropped(
    pairs: tf.data.Dataset,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    configuration: BatchingConfiguration,
    total: int | None = None,
) -> Dropped:
    """Count what `training_batches` keeps and drops of `pairs`; reads them once.

    Args:
        pairs, source_tokenizer, target_tokenizer, configuration: as for `training_batches`.
        total: the number of pairs, for the lines in the log that tell how long it will take.

    Raises:
        UserError: nothing is left to train on.
    """

    @tf.autograph.experimental.do_not_convert
    def filtered(source: tf.Tensor, target: tf.Tensor):
        source_ids, target_ids, outcome = _filter(source, target, source_tokenizer, target_tokenizer, configuration)
        return outcome, pair_lengths.bucket_length(source_ids.row_lengths(), target_ids.row_lengths())

    counter = LengthCounter(configuration)
    lines_before = 0
    outcomes = pairs.batch(_ENCODED_AT_ONCE).map(filtered, num_parallel_calls=2).as_numpy_iterator()
    for outcome, length in log_progress(outcomes, "encoding, to count the batches", total, _ENCODED_AT_ONCE):
        lines = lines_before + 1 + np.arange(len(outcome))
        counter.add(outcome, length, np.ones_like(lines), lines)
        lines_before += len(outcome)
    dropped = counter.dropped()
    if not dropped.kept:
        raise UserError(f"no pair is left to train on: {dropped}")
    return dropped


def _filter(source, target, source_tokenizer, target_tokenizer, configuration):
    """Strings [pairs] twice -> their ids, ragged [pairs, (length)] twice, and for each pair an index into
    `pair_lengths.OUTCOMES`.

    Pairs that are surely too long are not encoded: their ids are empty.
    """
    longest = framing.LONGEST_TOKEN * configuration.maximum_length
    characters = [tf.strings.length(side, unit="UTF8_CHAR") for side in (source, target)]
    surely_too_long = tf.maximum(*characters) > longest
    source_ids = source_tokenizer.encode(tf.where(surely_too_long, "", source))
    target_ids = target_tokenizer.encode(tf.where(surely_too_long, "", target))
    outcome = pair_lengths.outcomes(source_ids.row_lengths(), target_ids.row_lengths(), configuration)
    outcome = tf.where(surely_too_long, pair_lengths.TOO_LONG, outcome)
    return source_ids, target_ids, outcome


def _bucketed(examples: tf.data.Dataset, configuration: BatchingConfiguration) -> tf.data.Dataset:
    """Examples one by one -> padded batches of examples of similar length."""
    # Unbatching leaves rows of ragged tensors, which padding does not accept.
    examples = examples.map(lambda inputs, labels: tf.nest.map_structure(tf.convert_to_tensor, (inputs, labels)))
    boundaries, batch_sizes = pair_lengths.buckets(configuration)
    return examples.bucket_by_sequence_length(
        lambda inputs, labels: pair_lengths.bucket_length(tf.size(inputs["source"]) - 1, tf.size(labels) - 1),
        boundaries,
        batch_sizes,
    )


def repeatable(batches: tf.data.Dataset) -> tf.data.Dataset:
    """The same batches, prefetched, always in the same order."""
    options = tf.data.Options()
    options.deterministic = True
    return batches.with_options(options).prefetch(8)
