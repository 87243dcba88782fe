"""Batches of subwords that are drawn anew in each epoch.

Kudo 2018, arXiv:1804.10959, and, for BPE models, Provilkov et al. 2020, arXiv:1910.13267.
"""

from collections.abc import Sequence

import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.data import pair_lengths
from tfnmt.data.batching_configuration import BatchingConfiguration
from tfnmt.text.framing import padded_batch
from tfnmt.text.subword import SubwordTokenizer
from tfnmt.text.tokenizer import Tokenizer

# Batches whose pairs are sorted by the lengths that were drawn, so that a batch has little padding.
_SORTED_AT_ONCE = 50


def require_subwords(tokenizers: Sequence[Tokenizer], alpha: float | None) -> None:
    """Raise `UserError` if subwords are to be drawn, with this `subword_sampling`, and a tokenizer has none."""
    have_subwords = all(isinstance(tokenizer, SubwordTokenizer) for tokenizer in tokenizers)
    allowed = "none with tokenizer=words, which has no subwords"
    require(alpha is None or have_subwords, "subword_sampling", alpha, allowed)


def drawn_batches(
    texts: tf.data.Dataset,
    tokenizers: tuple[SubwordTokenizer, SubwordTokenizer],
    configuration: BatchingConfiguration,
    seed: list[tf.Tensor],
) -> tf.data.Dataset:
    """Batches as `tfnmt.data.pair_batches` describes them, each of `batch_size` pairs; the last ones may be smaller.

    Args:
        texts: (source, target), scalar strings, in the order of the epoch.
        tokenizers: of both sides.
        configuration: with `subword_sampling`, and batch_by=sentences.
        seed: int64, two scalars: what is drawn, and the order of the batches, depends on it alone.
    """
    size = configuration.batch_size

    @tf.autograph.experimental.do_not_convert
    def batches(number, texts):
        first, *seeds = tf.unstack(
            tf.random.stateless_uniform([3], tf.random.fold_in(seed, number), maxval=2**31 - 1, dtype=tf.int32)
        )
        source, target = (
            tokenizer.sample(text, configuration.subword_sampling, side_seed)
            for tokenizer, text, side_seed in zip(tokenizers, texts, seeds, strict=True)
        )
        by_length = tf.argsort(pair_lengths.bucket_length(source.row_lengths(), target.row_lengths()), stable=True)
        count = -(-tf.size(by_length) // size)
        order = tf.random.experimental.stateless_shuffle(tf.range(count), [first, 0])

        @tf.autograph.experimental.do_not_convert
        def batch(place):
            rows = by_length[place * size : (place + 1) * size]
            return padded_batch(tf.gather(source, rows), tf.gather(target, rows))

        return tf.data.Dataset.from_tensor_slices(order).map(batch)

    return texts.batch(_SORTED_AT_ONCE * size).enumerate().flat_map(batches)
