"""Greedy search and sampling: one result for each sentence, word by word."""

import tensorflow as tf
from pydantic import Field

from tfnmt.configuration import Configuration
from tfnmt.search.arrays import growing_array, zero_unless
from tfnmt.search.compaction import in_batch, leave, updated
from tfnmt.search.result import Found
from tfnmt.search.step import NEVER
from tfnmt.search.top_k import top_k
from tfnmt.shapes import any_rows


class SampleConfiguration(Configuration):
    """Which words are drawn, and how often."""

    temperature: float = Field(
        1.0,
        description="log-probabilities are divided by it; towards 0 it becomes greedy search",
        ge=0.001,
        le=1000,
    )
    top_k: int | None = Field(None, description="draw from the k most probable words only (Fan et al. 2018)", ge=1)
    top_p: float | None = Field(
        None, description="from the most probable that have together this probability or more", gt=0, le=1
    )


def greedy_search(step, states, memory, start, end, maximum_lengths):
    """Take the most probable next word until it is `end`.

    Args:
        step, states, memory: a step function, the states before the first word, and what every step gets; see
            `tfnmt.search.step`.
        start, end: ids of the word before the first and after the last.
        maximum_lengths: int32 [batch], words of each result at most, without `end`.

    Returns:
        A `Found` with n = 1.
    """

    def choose(i, log_probabilities, numbers):
        return tf.argmax(log_probabilities, axis=-1, output_type=tf.int32)

    return _write(step, states, memory, start, end, maximum_lengths, choose)


def sample(step, states, memory, start, end, maximum_lengths, configuration, seed, keys):
    """Draw each next word with its probability (ancestral sampling).

    A sentence's words depend on `seed` and on its own key alone, not on the batch that it is in. With both `top_k` and
    `top_p`, the latter is a part of what the former leaves (Fan et al. 2018, arXiv:1805.04833; Holtzman et al. 2020,
    arXiv:1904.09751).

    Args:
        step, states, memory, start, end, maximum_lengths: as for `greedy_search`.
        configuration: a `SampleConfiguration`.
        seed: an integer.
        keys: int [batch], a number for each sentence, such as its line's.

    Returns:
        A `Found` with n = 1; its scores are the log-probabilities of the model itself.
    """
    seeds = _random_numbers(seed, keys, tf.maximum(tf.reduce_max(maximum_lengths), 0))

    def choose(i, log_probabilities, numbers):
        words, log_probabilities = _candidates(log_probabilities, configuration)
        place = tf.argmax(
            log_probabilities + _gumbel(tf.gather(seeds[:, i, tf.newaxis], numbers), words),
            axis=-1,
            output_type=tf.int32,
        )
        return tf.gather(words, place, batch_dims=1)

    return _write(step, states, memory, start, end, maximum_lengths, choose)


def _random_numbers(seed, keys, count):
    """Random uint32 [batch, count + 1]: the first of each row are the same for any count and any batch."""

    def numbers(key):
        seeds = tf.stack([tf.cast(seed, tf.int64), key])
        return tf.random.stateless_uniform([count + 1], seeds, minval=None, maxval=None, dtype=tf.uint32)

    keys = tf.pad(tf.cast(keys, tf.int64), [[0, 1]])  # one more, since an empty batch could not be stacked
    return tf.map_fn(numbers, keys, fn_output_signature=tf.TensorSpec([None], tf.uint32))[:-1]


def _gumbel(seeds, words):
    """A random number for each word from the standard Gumbel distribution, made of a seed and the word alone.

    The word of the greatest log p + such a number is drawn with probability p (Gumbel 1954). Unlike a place in the
    cumulated p, it hangs by no rounding: what else is in the batch may change the last digits of p.

    Args:
        seeds: uint32 [batch, 1].
        words: int32 [batch, candidates].

    Returns:
        float32 [batch, candidates].
    """
    x = seeds + tf.cast(words, tf.uint32) * tf.constant(0x9E3779B9, tf.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):  # the finalizer of MurmurHash3 (Appleby)
        x = tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, tf.constant(shift, tf.uint32)))
        x *= tf.constant(factor, tf.uint32)
    x = tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, tf.constant(16, tf.uint32)))
    x = tf.cast(tf.bitwise.right_shift(x, tf.constant(9, tf.uint32)), tf.float32)
    return -tf.math.log(-tf.math.log((x + 0.5) * 2.0**-23))  # of a number between 0 and 1, neither of them


def _candidates(log_probabilities, c):
    """The words to draw from, int32 [batch, candidates], and their log p, which need not be normalised."""
    log_probabilities = log_probabilities / c.temperature
    if c.top_k is None and c.top_p is None:
        return tf.zeros_like(log_probabilities, tf.int32) + tf.range(tf.shape(log_probabilities)[1]), log_probabilities
    if c.top_k is None:
        best, words = tf.math.top_k(log_probabilities, tf.shape(log_probabilities)[1])
    else:
        best, words = top_k(log_probabilities, c.top_k)
    if c.top_p is not None:
        before = tf.cumsum(tf.nn.softmax(best), axis=-1, exclusive=True)
        best = tf.where(before < c.top_p, best, NEVER)
    return words, best


def _write(step, states, memory, start, end, maximum_lengths, choose):
    """Write results word by word; `choose(i, log_probabilities, numbers) -> ids` picks the i-th words, of the sentences
    that have these numbers in the batch.
    """
    batch = tf.size(maximum_lengths)

    def unfinished(now):
        return (now["i"] == 0) | ~tf.reduce_all(now["done"])

    def body(now):
        i, numbers, done = now["i"], now["numbers"], now["done"]
        log_probabilities, states, notes = step(now["ids"], now["states"], now["memory"])
        ids = choose(i, log_probabilities, numbers)
        total, lengths = (tf.gather(x, numbers) for x in now["results"])
        total += tf.where(done, 0.0, tf.gather(log_probabilities, ids, batch_dims=1))
        done |= (ids == end) | (total < NEVER / 2)
        ids = tf.where(done, 0, ids)
        lengths += tf.cast(~done, tf.int32)
        written = tf.nest.map_structure(
            lambda array, x: array.write(i, in_batch(x, numbers, batch)), now["written"], (ids, notes)
        )
        results = updated(now["results"], numbers, (total, lengths))
        done |= lengths >= now["limits"]
        of_sentences = {"ids": ids, "states": states, "memory": now["memory"], "done": done, "limits": now["limits"]}
        numbers, of_sentences, _ = leave(done, numbers, 1, of_sentences, ())
        return [{"i": i + 1, "numbers": numbers, "results": results, "written": written} | of_sentences]

    nothing = tf.zeros_like(maximum_lengths)
    ids = nothing + start
    _, _, notes = step(ids, states, memory)  # only its structure and shapes: unused operations leave the graph
    here = {
        "numbers": tf.range(batch),
        "limits": maximum_lengths,
        "done": maximum_lengths <= 0,
        "ids": ids,
        "states": states,
        "memory": memory,
    }
    of_all = {
        "results": (tf.zeros(tf.shape(ids)), nothing),
        "written": tf.nest.map_structure(growing_array, (ids, notes)),
    }
    (last,) = tf.while_loop(unfinished, body, [{"i": tf.constant(0)} | any_rows(here) | of_all])
    total, lengths = last["results"]
    found = total > NEVER / 2  # not where no word at all could be chosen
    total, lengths = tf.where(found, total, NEVER), tf.where(found, lengths, 0)

    def of_results(array):
        x = array.stack()
        x = tf.transpose(x, [1, 0, *range(2, x.shape.rank)])
        return zero_unless(tf.sequence_mask(lengths, tf.shape(x)[1]), x)

    words, notes = tf.nest.map_structure(of_results, last["written"])
    return Found(*tf.nest.map_structure(lambda x: tf.expand_dims(x, 1), (words, lengths, total, total, notes)))
