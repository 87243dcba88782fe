"""Greedy search, and the loop that writes one result token by token, which sampling shares."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfnmt.search.compaction import remove_finished, scatter_rows, update_sentences
from tfnmt.search.ops import batch_major, dynamic_array, positions, zero_unless
from tfnmt.search.step import NEG_INF, SearchResult, StepFunction
from tfnmt.shapes import any_rows


def greedy_search(
    step: StepFunction, states: Any, memory: Any, start: int, end: int, maximum_lengths: tf.Tensor
) -> SearchResult:
    """Take the most probable next token until it is `end`.

    Args:
        step: a step function, see `tfnmt.search.step`.
        states, memory: the states before the first step and what every step gets.
        start, end: ids of the token before the first and of the one after the last.
        maximum_lengths: int32 [batch], tokens of each result at most, without `end`.

    Returns:
        A `SearchResult` with n = 1; its scores are its log-probabilities.
    """

    def most_probable(i, log_probabilities, sentence_indices):
        return tf.argmax(log_probabilities, axis=-1)

    return generate(step, states, memory, start, end, maximum_lengths, most_probable)


def generate(
    step: StepFunction,
    states: Any,
    memory: Any,
    start: int,
    end: int,
    maximum_lengths: tf.Tensor,
    next_tokens: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor],
) -> SearchResult:
    """Write one result for each sentence, token by token.

    Args:
        step, states, memory, start, end, maximum_lengths: as for `greedy_search`.
        next_tokens: `next_tokens(i, log_probabilities, sentence_indices) -> ids` chooses the i-th tokens, int64
            [active], from float32 [active, vocabulary_size]; `sentence_indices`, int64 [active], says which sentences
            of the batch these are.

    Returns:
        A `SearchResult` with n = 1; its scores are its log-probabilities.
    """
    batch, maximum_lengths = tf.size(maximum_lengths), tf.cast(maximum_lengths, tf.int64)

    def unfinished(loop):
        return (loop["i"] == 0) | ~tf.reduce_all(loop["finished"])

    first = _initial(step, states, memory, start, maximum_lengths)
    (last,) = tf.while_loop(unfinished, lambda loop: [_next(loop, step, next_tokens, end, batch)], [first])
    total, lengths = last["results"]
    found = total > NEG_INF / 2  # False where no token at all could be chosen
    total, lengths = tf.where(found, total, NEG_INF), tf.cast(tf.where(found, lengths, 0), tf.int32)

    def until_the_end(array):
        x = batch_major(array.stack())
        return zero_unless(tf.sequence_mask(lengths, tf.shape(x)[1]), x)

    ids, auxiliary = tf.nest.map_structure(until_the_end, last["history"])
    results = (tf.cast(ids, tf.int32), lengths, total, total, auxiliary)
    return SearchResult(*tf.nest.map_structure(lambda x: tf.expand_dims(x, 1), results))


def _initial(step, states, memory, start, maximum_lengths):
    """The loop's state before the first step: an empty result of each sentence."""
    zeros = tf.zeros_like(maximum_lengths)
    ids = zeros + start
    _, _, auxiliary = step(ids, states, memory)  # only for its structure and shapes: the graph drops what is unused
    active = {
        "sentence_indices": positions(tf.size(maximum_lengths)),
        "maximum_lengths": maximum_lengths,
        "finished": maximum_lengths <= 0,
        "ids": ids,
        "states": states,
        "memory": memory,
    }
    return any_rows(active) | {
        "i": tf.constant(0),
        "results": (tf.zeros(tf.shape(ids)), zeros),
        "history": tf.nest.map_structure(dynamic_array, (ids, auxiliary)),
    }


def _next(loop, step, next_tokens, end, batch):
    """The loop's state after one step: a token more of each result that is not finished."""
    i, sentence_indices, finished = loop["i"], loop["sentence_indices"], loop["finished"]
    log_probabilities, states, auxiliary = step(loop["ids"], loop["states"], loop["memory"])
    ids = next_tokens(i, log_probabilities, sentence_indices)
    total, lengths = (tf.gather(x, sentence_indices) for x in loop["results"])
    total += tf.where(finished, 0.0, tf.gather(log_probabilities, ids, batch_dims=1))
    finished |= (ids == end) | (total < NEG_INF / 2)
    ids = tf.where(~finished, ids, 0)
    lengths += tf.cast(~finished, tf.int64)
    history = tf.nest.map_structure(
        lambda array, x: array.write(i, scatter_rows(x, sentence_indices, batch)), loop["history"], (ids, auxiliary)
    )
    results = update_sentences(loop["results"], sentence_indices, (total, lengths))
    finished |= lengths >= loop["maximum_lengths"]
    active = {"ids": ids, "states": states, "finished": finished}
    active |= {name: loop[name] for name in ("memory", "maximum_lengths")}
    sentence_indices, active, _ = remove_finished(finished, sentence_indices, 1, active, ())
    return {"i": i + 1, "sentence_indices": sentence_indices, "results": results, "history": history} | active
