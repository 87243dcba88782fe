"""Greedy search and sampling: one result for each sentence, word by word."""

from dataclasses import dataclass

import tensorflow as tf

from tfnmt.configuration import check_types, option, require
from tfnmt.search.arrays import growing_array, zero_unless
from tfnmt.search.result import Found
from tfnmt.search.step import NEVER
from tfnmt.search.top_k import top_k


@dataclass(frozen=True)
class SampleConfiguration:
    """Which words are drawn, and how often."""

    temperature: float = option(1.0, "log-probabilities are divided by it; under 1 the probable becomes more so")
    top_k: int | None = option(None, "draw from the k most probable words only (Fan et al. 2018)")
    top_p: float | None = option(None, "from the most probable that have together this probability or more")

    def __post_init__(self):
        check_types(self)
        allowed = "a number from 0.001 to 1000 (greedy search is what 0 would be)"
        require(0.001 <= self.temperature <= 1000, "temperature", self.temperature, allowed)
        require(self.top_k is None or self.top_k >= 1, "top_k", self.top_k, "a whole number from 1, or none")
        require(self.top_p is None or 0 < self.top_p <= 1, "top_p", self.top_p, "0 < top_p <= 1, or none")


def greedy_search(step, states, start, end, maximum_lengths):
    """Take the most probable next word until it is `end`.

    Args:
        step, states: a step function and the states before the first word; see `tfnmt.search.step`.
        start, end: ids of the word before the first and after the last.
        maximum_lengths: int32 [batch], words of each result at most, without `end`.

    Returns:
        A `Found` with n = 1.
    """

    def choose(i, log_probabilities):
        return tf.argmax(log_probabilities, axis=-1, output_type=tf.int32)

    return _write(step, states, start, end, maximum_lengths, choose)


def sample(step, states, start, end, maximum_lengths, configuration, seed, keys):
    """Draw each next word with its probability (ancestral sampling).

    A sentence's words depend on `seed` and on its own key alone, not on the batch that it is in. With both `top_k` and
    `top_p`, the latter is a part of what the former leaves (Fan et al. 2018, arXiv:1805.04833; Holtzman et al. 2020,
    arXiv:1904.09751).

    Args:
        step, states, start, end, maximum_lengths: as for `greedy_search`.
        configuration: a `SampleConfiguration`.
        seed: an integer.
        keys: int [batch], a number for each sentence, such as its line's.

    Returns:
        A `Found` with n = 1; its scores are the log-probabilities of the model itself.
    """
    uniform = _random_numbers(seed, keys, tf.maximum(tf.reduce_max(maximum_lengths), 0))

    def choose(i, log_probabilities):
        words, probabilities = _candidates(log_probabilities, configuration)
        up_to = tf.cumsum(probabilities, axis=-1)
        drawn = uniform[:, i, tf.newaxis] * up_to[:, -1:]
        place = tf.searchsorted(up_to, drawn, side="right")[:, 0]
        place = tf.minimum(place, tf.shape(up_to)[1] - 1)  # where no word is possible
        return place if words is None else tf.gather(words, place, batch_dims=1)

    return _write(step, states, start, end, maximum_lengths, choose)


def _random_numbers(seed, keys, count):
    """Numbers in [0, 1), [batch, count + 1]: the first of each row are the same for any count and any batch."""

    def numbers(key):
        return tf.random.stateless_uniform([count + 1], tf.stack([tf.cast(seed, tf.int64), key]))

    keys = tf.pad(tf.cast(keys, tf.int64), [[0, 1]])  # one more, since an empty batch could not be stacked
    return tf.map_fn(numbers, keys, fn_output_signature=tf.TensorSpec([None], tf.float32))[:-1]


def _candidates(log_probabilities, c):
    """The words to draw from, int32 [batch, candidates], and their probabilities, which need not add up to 1.

    Instead of all words in order: None.
    """
    log_probabilities = log_probabilities / c.temperature
    if c.top_k is None and c.top_p is None:
        return None, tf.nn.softmax(log_probabilities)
    if c.top_k is None:
        best, words = tf.math.top_k(log_probabilities, tf.shape(log_probabilities)[1])
    else:
        best, words = top_k(log_probabilities, c.top_k)
    probabilities = tf.nn.softmax(best)
    if c.top_p is not None:
        before = tf.cumsum(probabilities, axis=-1, exclusive=True)
        probabilities = tf.where(before < c.top_p, probabilities, 0.0)
    return words, probabilities


def _write(step, states, start, end, maximum_lengths, choose):
    """Write results word by word; `choose(i, log_probabilities) -> ids` picks the i-th words."""

    def unfinished(i, ids, states, total, lengths, done, written):
        return (i == 0) | ~tf.reduce_all(done)

    def body(i, ids, states, total, lengths, done, written):
        log_probabilities, states, notes = step(ids, states)
        ids = choose(i, log_probabilities)
        total += tf.where(done, 0.0, tf.gather(log_probabilities, ids, batch_dims=1))
        done |= (ids == end) | (total < NEVER / 2)
        ids = tf.where(done, 0, ids)
        lengths += tf.cast(~done, tf.int32)
        written = tf.nest.map_structure(lambda array, x: array.write(i, x), written, (ids, notes))
        return i + 1, ids, states, total, lengths, done | (lengths >= maximum_lengths), written

    nothing = tf.zeros_like(maximum_lengths)
    ids = nothing + start
    _, _, notes = step(ids, states)  # only its structure and shapes: unused operations leave the graph
    written = tf.nest.map_structure(growing_array, (ids, notes))
    first = (0, ids, states, tf.zeros(tf.shape(ids)), nothing, maximum_lengths <= 0, written)
    *_, total, lengths, _, written = tf.while_loop(unfinished, body, first)

    found = total > NEVER / 2  # not where no word at all could be chosen
    total, lengths = tf.where(found, total, NEVER), tf.where(found, lengths, 0)

    def of_results(array):
        x = array.stack()
        x = tf.transpose(x, [1, 0, *range(2, x.shape.rank)])
        return zero_unless(tf.sequence_mask(lengths, tf.shape(x)[1]), x)

    words, notes = tf.nest.map_structure(of_results, written)
    return Found(*tf.nest.map_structure(lambda x: tf.expand_dims(x, 1), (words, lengths, total, total, notes)))
