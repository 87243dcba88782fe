"""Beam search: keep the K most probable beginnings at each place, in the graph and over any step function."""

from typing import Literal

import tensorflow as tf
from pydantic import Field

from tfnmt.configuration import Configuration, require
from tfnmt.search.arrays import growing_array, zero_unless
from tfnmt.search.compaction import in_batch, leave, rows_of, updated
from tfnmt.search.result import Found
from tfnmt.search.step import NEVER
from tfnmt.search.top_k import top_k
from tfnmt.shapes import any_rows


class BeamConfiguration(Configuration):
    """What a beam search looks for."""

    beam_size: int = Field(5, description="K, how many beginnings are kept", ge=1, le=2**16)
    length_penalty: float = Field(
        1.0, description="α of the length that log-probabilities are divided by; 0 compares plain sums", ge=0
    )
    length_norm: Literal["length", "gnmt"] = Field("length", description="|y|^α, or ((5 + |y|) / 6)^α (Wu et al. 2016)")
    coverage_penalty: float = Field(
        0.0, description="β of the penalty for source words that no word has attended to", ge=0
    )


def beam_search(step, states, memory, start, end, maximum_lengths, configuration, coverage=None, wanted=None):
    """Find the K results y of the highest score

        log p(y) / norm(|y|) + β Σ_j log min(Σ_i a_ij, 1)        (Wu et al. 2016, arXiv:1609.08144, eq. 14)

    where |y| and i count `end` too, written or not. A beginning is a result when `end` is among its sentence's K best
    next words, or at its maximum length. A sentence is finished when it has K results, when no beginning is left, or
    when none that is left can win a place among the results that are wanted. A beam of 1 is greedy search.

    Args:
        step: a step function over rows [batch · K], the beams of one sentence together; see `tfnmt.search.step`.
        states, memory: the states before the first word and what every step gets, both of [batch] rows.
        start, end: ids of the word before the first and after the last.
        maximum_lengths: int32 [batch], words of each result at most, without `end`.
        configuration: a `BeamConfiguration`.
        coverage: needed for a coverage penalty: a function from a step's notes and its memory to a_i, float32 [rows,
            places]; 1 at places that need not be covered.
        wanted: how many results, K unless told.

    Returns:
        A `Found` with n = K, of which the first `wanted` count.

    Raises:
        UserError: a coverage penalty without `coverage`.
    """
    c, beam_size = configuration, configuration.beam_size
    covers = c.coverage_penalty > 0
    require(coverage or not covers, "coverage_penalty", c.coverage_penalty, "0, for a model without attention")
    batch, wanted = tf.size(maximum_lengths), beam_size if wanted is None else wanted

    def unfinished(now):
        return (now["i"] == 0) | tf.reduce_any(now["live"] > NEVER / 2)

    def body(now):
        i, live, seen = now["i"], now["live"], now["seen"]
        row_numbers = tf.reshape(rows_of(now["numbers"], beam_size), [-1])  # those that these rows have in the batch
        log_p, states, notes = step(now["ids"], now["states"], now["memory"])
        next_words = _next_words(log_p, live, end)
        ended = tf.nest.map_structure(lambda x: tf.gather(x, now["numbers"]), now["ended"])
        ending, rows = _endings(next_words, live, i >= now["limits"])
        scores = ending / _norm(i + 1, c)
        if covers:
            seen += coverage(notes, now["memory"])
            scores += c.coverage_penalty * tf.gather(_uncovered(seen), rows)
        ended = _best_of(ended, _results(scores, ending, i, tf.gather(row_numbers, rows)))
        live, ids, parents = _going_on(next_words, ended, i, now["limits"], wanted, c)
        states, seen, notes = tf.nest.map_structure(lambda x: tf.gather(x, parents), (states, seen, notes))
        history = tf.nest.map_structure(
            lambda array, x: array.write(i, in_batch(x, row_numbers, batch * beam_size)),
            now["history"],
            (ids, tf.gather(row_numbers, parents), notes),
        )
        numbers, of_sentences, of_rows = leave(
            ~tf.reduce_any(live > NEVER / 2, axis=1),
            now["numbers"],
            beam_size,
            of_sentences={"live": live, "limits": now["limits"]},
            of_rows={"ids": ids, "states": states, "memory": now["memory"], "seen": seen},
        )
        ended = updated(now["ended"], now["numbers"], ended)
        return [{"i": i + 1, "numbers": numbers, "ended": ended, "history": history} | of_sentences | of_rows]

    first = _first(step, states, memory, start, maximum_lengths, beam_size, coverage if covers else None)
    (last,) = tf.while_loop(unfinished, body, [first])
    ids, notes = _of_results(last["ended"], *last["history"])
    ended = last["ended"]
    return Found(ids, ended["lengths"], ended["scores"], ended["log_probabilities"], notes)


def _first(step, states, memory, start, maximum_lengths, beam_size, coverage):
    """What the loop begins with: of every sentence as many beginnings as the beam has, all of them empty."""
    numbers = tf.range(tf.size(maximum_lengths))
    every_row = rows_of(numbers, beam_size)
    states, memory = tf.nest.map_structure(lambda x: tf.repeat(x, beam_size, axis=0), (states, memory))
    ids = tf.fill([tf.size(every_row)], start)
    _, _, notes = step(ids, states, memory)  # only its structure and shapes: unused operations leave the graph
    never, nothing = tf.fill(tf.shape(every_row), NEVER), tf.zeros_like(every_row)
    here = {
        "numbers": numbers,
        "limits": maximum_lengths[:, tf.newaxis],
        # At first all beams are one beginning: only one is alive.
        "live": tf.where(tf.range(beam_size) == 0, 0.0, never),
        "ids": ids,
        "states": states,
        "memory": memory,
        "seen": tf.zeros_like(coverage(notes, memory)) if coverage else (),
    }
    return any_rows(here) | {
        "i": tf.constant(0),
        "ended": {"scores": never, "log_probabilities": never, "lengths": nothing, "rows": every_row},
        "history": tf.nest.map_structure(growing_array, (ids, ids, notes)),
    }


def _next_words(log_p, live, end):
    """The words that may come next, [present, candidates]: "log_p" of beginnings with them, the "ids", the "rows" of
    these beginnings, and whether it "is_end".

    Of each beam the K + 1 best, since one of them may be `end`.
    """
    present, beam_size = tf.shape(live)[0], live.shape[1]
    best, ids = top_k(log_p, beam_size + 1)
    rows = tf.zeros_like(ids) + tf.range(tf.shape(ids)[0])[:, tf.newaxis]
    words = {"log_p": tf.reshape(live, [-1, 1]) + best, "ids": ids, "rows": rows, "is_end": ids == end}
    return {name: tf.reshape(x, [present, beam_size * tf.shape(best)[1]]) for name, x in words.items()}


def _endings(next_words, live, at_limit):
    """The beginnings that end now, [present, K]: their log p, `NEVER` where there are fewer, and their rows.

    They are those whose `end` is among the K best next words. At the maximum length all end, without that word.
    """
    best, chosen = tf.math.top_k(next_words["log_p"], live.shape[1])
    is_end, rows = (tf.gather(next_words[name], chosen, batch_dims=1) for name in ("is_end", "rows"))
    every_row = tf.reshape(tf.range(tf.size(live)), tf.shape(live))
    return tf.where(at_limit, live, tf.where(is_end, best, NEVER)), tf.where(at_limit, every_row, rows)


def _results(scores, log_p, length, rows):
    """What ends now, as the loop keeps results: [present, K]; there is none where log p is `NEVER`."""
    scores = tf.where(log_p > NEVER / 2, scores, NEVER)
    return {"scores": scores, "log_probabilities": log_p, "lengths": tf.fill(tf.shape(rows), length), "rows": rows}


def _going_on(next_words, ended, i, limits, wanted, c):
    """The K best beginnings that go on: log p [present, K], `NEVER` where there are fewer, and ids and rows they come
    from, [present · K].
    """
    finished = (i >= limits) | (ended["scores"][:, -1:] > NEVER)
    live, chosen = tf.math.top_k(tf.where(finished | next_words["is_end"], NEVER, next_words["log_p"]), c.beam_size)
    # No word makes log p grow, and nothing is longer than the limit: no score to come is higher than this.
    no_higher = live[:, :1] / _norm(limits + 1, c)
    live = tf.where(no_higher > ended["scores"][:, wanted - 1 : wanted], live, NEVER)
    ids, rows = (tf.reshape(tf.gather(next_words[name], chosen, batch_dims=1), [-1]) for name in ("ids", "rows"))
    return live, ids, rows


def _norm(length, c):
    length = tf.cast(length, tf.float32)
    return (length if c.length_norm == "length" else (5 + length) / 6) ** c.length_penalty


def _uncovered(seen):
    """Σ_j log min(Σ_i a_ij, 1), of Σ_i a_ij [rows, places]."""
    return tf.reduce_sum(tf.math.log(tf.clip_by_value(seen, 1e-9, 1.0)), axis=-1)


def _best_of(ended, now):
    """The K best of the results that there were and of those that there are now."""
    both = {name: tf.concat([ended[name], now[name]], axis=1) for name in ended}
    _, chosen = tf.math.top_k(both["scores"], ended["scores"].shape[1])
    return {name: tf.gather(x, chosen, batch_dims=1) for name, x in both.items()}


def _of_results(ended, ids, parents, notes):
    """The words and notes of each result, [batch, K, steps, ...], followed from its last row to its first.

    Args:
        ended: the results' lengths and the rows in which they ended, int32 [batch, K].
        ids, parents, notes: arrays of the words and notes of every row and of the row that each came from.
    """
    parents, written = parents.stack(), tf.nest.map_structure(lambda array: array.stack(), (ids, notes))
    steps, shape = tf.shape(parents)[0], tf.shape(ended["lengths"])
    rows, lengths = (tf.reshape(ended[name], [-1]) for name in ("rows", "lengths"))

    def body(i, rows, followed):
        before = tf.where(i < lengths, tf.gather(parents[i], rows), rows)
        return i - 1, before, followed.write(i, rows)

    followed = tf.TensorArray(tf.int32, size=steps, element_shape=[None])
    *_, followed = tf.while_loop(lambda i, *_: i >= 0, body, (steps - 1, rows, followed))
    rows = followed.stack()

    def of_results(x):
        x = zero_unless(tf.range(steps)[:, tf.newaxis] < lengths, tf.gather(x, rows, batch_dims=1))
        x = tf.transpose(x, [1, 0, *range(2, x.shape.rank)])
        return tf.reshape(x, tf.concat([shape, tf.shape(x)[1:]], axis=0))

    return tf.nest.map_structure(of_results, written)
