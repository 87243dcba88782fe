"""Beam search: keep the K most probable hypotheses of each sentence, in the graph, with any step function."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.search.compaction import remove_finished, rows_of, scatter_rows, update_sentences
from tfnmt.search.configuration import BeamConfiguration
from tfnmt.search.ops import batch_major, dynamic_array, positions, top_k, zero_unless
from tfnmt.search.step import NEG_INF, SearchResult, StepFunction
from tfnmt.shapes import any_rows


def beam_search(
    step: StepFunction,
    states: Any,
    memory: Any,
    start: int,
    end: int,
    maximum_lengths: tf.Tensor,
    configuration: BeamConfiguration,
    coverage: Callable[[Any, Any], tf.Tensor] | None = None,
    number_of_results: int | None = None,
) -> SearchResult:
    """Find the K results y with the highest score

        log p(y) / norm(|y|) + β Σ_j log min(Σ_i a_ij, 1)        (Wu et al. 2016, arXiv:1609.08144, eq. 14)

    where |y| and i count `end` too, written or not. A hypothesis is finished, and so a result, when `end` is among the
    K best next tokens of its sentence, or at the maximum length. A sentence is finished when it has K results, when it
    has no hypothesis left, or when none that is left can still be among its best `number_of_results`. A beam of 1
    finds what `greedy_search` finds, whose scores are not divided.

    Args:
        step: a step function over rows [batch · K], the hypotheses of one sentence together; see `tfnmt.search.step`.
        states, memory: the states before the first step and what every step gets, of [batch] rows and sentences.
        start, end: ids of the token before the first and of the one after the last.
        maximum_lengths: int32 [batch], tokens of each result at most, without `end`.
        configuration: a `BeamConfiguration`.
        coverage: for a coverage penalty: a function from a step's auxiliary outputs and its memory to a_i, float32
            [rows, source_length]; 1 at positions that need not be covered.
        number_of_results: how many results are asked for, at most K; None for K.

    Returns:
        A `SearchResult` with n = K, of which the first `number_of_results` count.

    Raises:
        UserError: a coverage penalty without `coverage`.
    """
    c, beam_size = configuration, configuration.beam_size
    if c.coverage_penalty == 0:
        coverage = None
    else:
        require(coverage is not None, "coverage_penalty", c.coverage_penalty, "0, for a model without attention")
    batch, maximum_lengths = tf.size(maximum_lengths), tf.cast(maximum_lengths, tf.int64)
    number_of_results = beam_size if number_of_results is None else number_of_results

    def unfinished(loop):
        return (loop["i"] == 0) | tf.reduce_any(loop["log_p"] > NEG_INF / 2)

    first = _initial(step, states, memory, start, maximum_lengths, beam_size, coverage)
    (last,) = tf.while_loop(
        unfinished, lambda loop: [_next(loop, step, end, coverage, batch, number_of_results, c)], [first]
    )
    results = last["results"]
    ids, auxiliary = _backtrack(results, *last["history"])
    ids, lengths = tf.cast(ids, tf.int32), tf.cast(results["lengths"], tf.int32)
    return SearchResult(ids, lengths, results["scores"], results["log_p"], auxiliary)


def _initial(step, states, memory, start, maximum_lengths, beam_size, coverage):
    """The loop's state before the first step: K empty hypotheses of every sentence, of which one is alive."""
    sentence_indices = positions(tf.size(maximum_lengths))
    rows = rows_of(sentence_indices, beam_size)
    states = tf.nest.map_structure(lambda x: tf.repeat(x, beam_size, axis=0), states)
    ids = tf.fill([tf.size(rows)], tf.constant(start, tf.int64))
    _, _, auxiliary = step(ids, states, memory)  # only for its structure and shapes: the graph drops what is unused
    impossible, zeros = tf.fill(tf.shape(rows), NEG_INF), tf.zeros_like(rows)
    active = {
        "sentence_indices": sentence_indices,
        "maximum_lengths": maximum_lengths[:, tf.newaxis],
        "log_p": tf.where(tf.range(beam_size) == 0, 0.0, impossible),
        "ids": ids,
        "states": states,
        "memory": memory,
        "covered": tf.zeros_like(coverage(auxiliary, memory)) if coverage else (),
    }
    return any_rows(active) | {
        "i": tf.constant(0),
        "results": {"scores": impossible, "log_p": impossible, "lengths": zeros, "rows": rows},
        "history": tf.nest.map_structure(dynamic_array, (ids, ids, auxiliary)),
    }


def _next(loop, step, end, coverage, batch, number_of_results, c):
    """The loop's state after one step."""
    i, limits, covered, beam_size = loop["i"], loop["maximum_lengths"], loop["covered"], c.beam_size
    length = tf.cast(i, tf.int64)
    rows_in_batch = tf.reshape(rows_of(loop["sentence_indices"], beam_size), [-1])
    log_probabilities, states, auxiliary = step(loop["ids"], loop["states"], loop["memory"])
    candidates = _candidates(log_probabilities, loop["log_p"], end)
    finished_log_p, rows = _finished(candidates, loop["log_p"], length >= limits)
    scores = finished_log_p / _norm(i + 1, c)
    if coverage is not None:
        covered += coverage(auxiliary, loop["memory"])
        scores += c.coverage_penalty * tf.gather(_log_coverage(covered), rows)
    results = tf.nest.map_structure(lambda x: tf.gather(x, loop["sentence_indices"]), loop["results"])
    results = _best(results, _new_results(scores, finished_log_p, length, tf.gather(rows_in_batch, rows)))
    log_p, ids, parents = _alive(candidates, results, length, limits, number_of_results, c)
    states, covered, auxiliary = tf.nest.map_structure(lambda x: tf.gather(x, parents), (states, covered, auxiliary))
    history = tf.nest.map_structure(
        lambda array, x: array.write(i, scatter_rows(x, rows_in_batch, batch * beam_size)),
        loop["history"],
        (ids, tf.gather(rows_in_batch, parents), auxiliary),
    )
    sentence_indices, by_sentence, by_row = remove_finished(
        ~tf.reduce_any(log_p > NEG_INF / 2, axis=1),
        loop["sentence_indices"],
        beam_size,
        by_sentence={"log_p": log_p, "maximum_lengths": limits, "memory": loop["memory"]},
        by_row={"ids": ids, "states": states, "covered": covered},
    )
    results = update_sentences(loop["results"], loop["sentence_indices"], results)
    whole_batch = {"i": i + 1, "results": results, "history": history}
    return {"sentence_indices": sentence_indices} | by_sentence | by_row | whole_batch


def _candidates(log_probabilities, log_p, end):
    """The best continuations of the hypotheses, [active, candidates]: their "log_p", their last tokens "ids", the
    "rows" of the hypotheses that they continue, and whether that token "is_end".

    Of each hypothesis the K + 1 best, since one of them may be `end`.
    """
    active, beam_size = tf.shape(log_p)[0], log_p.shape[1]
    best, ids = top_k(log_probabilities, beam_size + 1)
    ids = tf.cast(ids, tf.int64)
    rows = tf.zeros_like(ids) + positions(tf.shape(ids)[0])[:, tf.newaxis]
    candidates = {"log_p": tf.reshape(log_p, [-1, 1]) + best, "ids": ids, "rows": rows, "is_end": ids == end}
    return {name: tf.reshape(x, [active, beam_size * tf.shape(best)[1]]) for name, x in candidates.items()}


def _finished(candidates, log_p, at_limit):
    """The hypotheses that are finished now, [active, K]: their log p, `NEG_INF` where there are fewer, and their rows.

    They are those whose `end` is among the K best candidates. At the maximum length all are, without `end`.
    """
    best, chosen = tf.math.top_k(candidates["log_p"], log_p.shape[1])
    is_end, rows = (tf.gather(candidates[name], chosen, batch_dims=1) for name in ("is_end", "rows"))
    all_rows = tf.reshape(positions(tf.size(log_p)), tf.shape(log_p))
    return tf.where(at_limit, log_p, tf.where(is_end, best, NEG_INF)), tf.where(at_limit, all_rows, rows)


def _new_results(scores, log_p, length, rows):
    """Finished hypotheses as the loop keeps results, [active, K]; where log p is `NEG_INF`, there is none."""
    scores = tf.where(log_p > NEG_INF / 2, scores, NEG_INF)
    return {"scores": scores, "log_p": log_p, "lengths": tf.fill(tf.shape(rows), length), "rows": rows}


def _alive(candidates, results, length, limits, number_of_results, c):
    """The K best hypotheses that the search goes on with: their log p [active, K], `NEG_INF` where there are fewer, and
    their last tokens and parents' rows, [active · K].
    """
    finished = (length >= limits) | (results["scores"][:, -1:] > NEG_INF)
    ends = finished | candidates["is_end"]
    log_p, chosen = tf.math.top_k(tf.where(ends, NEG_INF, candidates["log_p"]), c.beam_size)
    # No token raises log p, and no result is longer than the limit: no score can become higher than this.
    highest_score = log_p[:, :1] / _norm(limits + 1, c)
    worst_result = results["scores"][:, number_of_results - 1 : number_of_results]
    log_p = tf.where(highest_score > worst_result, log_p, NEG_INF)
    ids, rows = (tf.reshape(tf.gather(candidates[name], chosen, batch_dims=1), [-1]) for name in ("ids", "rows"))
    return log_p, ids, rows


def _norm(length, c):
    length = tf.cast(length, tf.float32)
    return (length if c.length_norm == "length" else (5 + length) / 6) ** c.length_penalty


def _log_coverage(covered):
    """Σ_j log min(Σ_i a_ij, 1), of Σ_i a_ij [rows, source_length]."""
    return tf.reduce_sum(tf.math.log(tf.clip_by_value(covered, 1e-9, 1.0)), axis=-1)


def _best(results, new):
    """The K best of the previous and the new results."""
    both = {name: tf.concat([results[name], new[name]], axis=1) for name in results}
    _, chosen = tf.math.top_k(both["scores"], results["scores"].shape[1])
    return {name: tf.gather(x, chosen, batch_dims=1) for name, x in both.items()}


def _backtrack(results, ids, parents, auxiliary):
    """The tokens and auxiliary outputs of each result, [batch, K, steps, ...], from its last row back to its first.

    Args:
        results: "lengths" and "rows" (the rows in which the results were finished), int64 [batch, K].
        ids, parents, auxiliary: arrays of every step's tokens, the rows that they continue, and auxiliary outputs.
    """
    parents, written = parents.stack(), tf.nest.map_structure(lambda array: array.stack(), (ids, auxiliary))
    steps, shape = tf.shape(parents)[0], tf.shape(results["lengths"])
    rows, lengths = (tf.reshape(results[name], [-1]) for name in ("rows", "lengths"))

    def previous(rows, step):
        i, parents = step
        return tf.where(i < lengths, tf.gather(parents, rows), rows)

    before = tf.scan(previous, (positions(steps), parents), initializer=rows, reverse=True)  # the rows before each step
    rows = tf.concat([before[1:], rows[tf.newaxis]], axis=0)  # and after it, where its tokens are

    def of_results(x):
        x = batch_major(zero_unless(positions(steps)[:, tf.newaxis] < lengths, tf.gather(x, rows, batch_dims=1)))
        return tf.reshape(x, tf.concat([shape, tf.shape(x)[1:]], axis=0))

    return tf.nest.map_structure(of_results, written)
