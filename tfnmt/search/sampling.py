"""Sampling: draw each next token with its probability."""

from typing import Any

import tensorflow as tf

from tfnmt.search.configuration import SampleConfiguration
from tfnmt.search.greedy import generate
from tfnmt.search.ops import top_k
from tfnmt.search.step import NEG_INF, SearchResult, StepFunction


def sample(
    step: StepFunction,
    states: Any,
    memory: Any,
    start: int,
    end: int,
    maximum_lengths: tf.Tensor,
    configuration: SampleConfiguration,
    seed: int,
    keys: tf.Tensor,
    words: tf.Tensor | None = None,
) -> SearchResult:
    """Draw each next token with its probability (ancestral sampling).

    The tokens of a sentence depend on `seed` and on its own key, not on the other sentences of the batch. With both
    `top_k` and `top_p`, the latter restricts what the former leaves (Fan et al. 2018, arXiv:1805.04833; Holtzman et al.
    2020, arXiv:1904.09751).

    Args:
        step, states, memory, start, end, maximum_lengths: as for `greedy_search`.
        configuration: a `SampleConfiguration`.
        seed: an integer.
        keys: int [batch], a number for each sentence, such as that of its line.
        words: int32 [tokens], the real id of each token where the step function numbers those of a shortlist anew; None
            where a token is its id.

    Returns:
        A `SearchResult` with n = 1; its scores are the log-probabilities of the model itself, whatever the temperature.
    """
    seeds = _seeds(seed, keys, tf.maximum(tf.reduce_max(maximum_lengths), 0))

    def draw(i, log_probabilities, sentence_indices):
        tokens, log_probabilities = _candidates(log_probabilities, configuration)
        seeds_i = tf.cast(tf.gather(seeds[:, i, tf.newaxis], sentence_indices), tf.uint32)
        noise = _gumbel_noise(seeds_i, tokens if words is None else tf.gather(words, tokens))
        chosen = tf.argmax(log_probabilities + noise, axis=-1)
        return tf.cast(tf.gather(tokens, chosen, batch_dims=1), tf.int64)

    return generate(step, states, memory, start, end, maximum_lengths, draw)


def _candidates(log_probabilities, c):
    """The tokens to draw from, int32 [batch, candidates], and their log p, which need not be normalised."""
    log_probabilities = log_probabilities / c.temperature
    if c.top_k is None and c.top_p is None:
        return tf.zeros_like(log_probabilities, tf.int32) + tf.range(tf.shape(log_probabilities)[1]), log_probabilities
    if c.top_k is None:
        best, tokens = tf.math.top_k(log_probabilities, tf.shape(log_probabilities)[1])
    else:
        best, tokens = top_k(log_probabilities, c.top_k)
    if c.top_p is not None:
        before = tf.cumsum(tf.nn.softmax(best), axis=-1, exclusive=True)
        best = tf.where(before < c.top_p, best, NEG_INF)
    return tokens, best


def _seeds(seed, keys, count):
    """A random uint32 for each sentence and position, [batch, count + 1]. A row depends on `seed` and its key alone,
    and a larger count only adds to it. They are int64 tensors, since GPUs have no kernels for arrays of uint32.
    """

    def row(key):
        seeds = tf.stack([tf.cast(seed, tf.int64), key])
        drawn = tf.random.stateless_uniform([count + 1], seeds, minval=None, maxval=None, dtype=tf.uint32)
        return tf.cast(drawn, tf.int64)

    keys = tf.pad(tf.cast(keys, tf.int64), [[0, 1]])  # one more, since an empty batch could not be stacked
    return tf.map_fn(row, keys, fn_output_signature=tf.TensorSpec([None], tf.int64))[:-1]


def _gumbel_noise(seeds, tokens):
    """A random number from the standard Gumbel distribution for each token, a hash of its id and a seed.

    The token with the greatest log p + noise is drawn with probability p (Gumbel 1954). A draw from the cumulated p
    would depend on their rounding, and so on what else is in the batch.

    Args:
        seeds: uint32 [batch, 1].
        tokens: int32 [batch, candidates].

    Returns:
        float32 [batch, candidates].
    """
    x = seeds + tf.cast(tokens, tf.uint32) * tf.constant(0x9E3779B9, tf.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):  # the finalizer of MurmurHash3 (Appleby)
        x = tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, tf.constant(shift, tf.uint32)))
        x *= tf.constant(factor, tf.uint32)
    x = tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, tf.constant(16, tf.uint32)))
    x = tf.cast(tf.bitwise.right_shift(x, tf.constant(9, tf.uint32)), tf.float32)
    return -tf.math.log(-tf.math.log((x + 0.5) * 2.0**-23))  # of a number strictly between 0 and 1
