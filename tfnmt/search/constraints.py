"""Constraints on what a search may write. Each wraps a step function and sets log-probabilities to `NEG_INF`.

    constraint(step, states, ...) -> (step, states)

The states are those before the first step; a constraint with a memory of its own adds it to them, in int64, as all
integers in the loops of searches (see `tfnmt.search.compaction`). Comparisons that broadcast are written `tf.equal`: in
a graph, the static shape of `==` would be unknown.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.search.ops import positions, top_k
from tfnmt.search.step import NEG_INF, StepFunction

Constraint = Callable[[StepFunction, Any], tuple[StepFunction, Any]]


def constrain(step: StepFunction, states: Any, constraints: Sequence[Constraint]) -> tuple[StepFunction, Any]:
    """Apply several constraints, one after the other: each wraps the step function that the one before it gave."""
    for constraint in constraints:
        step, states = constraint(step, states)
    return step, states


def ban_tokens(step: StepFunction, states: Any, banned: Sequence[int] | tf.Tensor) -> tuple[StepFunction, Any]:
    """Never write the tokens `banned`, a list of ids."""

    def constrained(ids, states, memory):
        log_probabilities, states, auxiliary = step(ids, states, memory)
        rows, tokens = tf.meshgrid(positions(tf.shape(ids)[0]), tf.cast(banned, tf.int64))
        entries = tf.stack([tf.reshape(rows, [-1]), tf.reshape(tokens, [-1])], axis=1)
        # An update in place, which needs no pass over the vocabulary.
        updates = tf.fill(tf.shape(entries)[:1], NEG_INF)
        return tf.tensor_scatter_nd_update(log_probabilities, entries, updates), states, auxiliary

    return constrained, states


def require_minimum_length(
    step: StepFunction, states: Any, minimum_lengths: tf.Tensor, end: int
) -> tuple[StepFunction, Any]:
    """Do not write `end` before a result has `minimum_lengths` tokens, int [batch].

    A maximum length that is less takes precedence.
    """

    def constrained(ids, states, memory):
        inner, missing = states
        log_probabilities, inner, auxiliary = step(ids, inner, memory)
        too_early = (missing[:, tf.newaxis] > 0) & (_vocabulary(log_probabilities) == end)
        return tf.where(too_early, NEG_INF, log_probabilities), (inner, missing - 1), auxiliary

    return constrained, (states, tf.cast(minimum_lengths, tf.int64))


def block_repeated_ngrams(
    step: StepFunction, states: Any, n: int, maximum_lengths: tf.Tensor
) -> tuple[StepFunction, Any]:
    """Never write the same n tokens in a row twice in one result (Paulus et al. 2018, arXiv:1705.04304, section 2.5).

    Args:
        step, states: a step function and its first states.
        n: 1 or more.
        maximum_lengths: int [batch], of the search.

    Raises:
        UserError: n is less than 1.
    """
    require(n >= 1, "n", n, "a whole number from 1")
    width = tf.maximum(tf.reduce_max(maximum_lengths), 0) + 1  # an empty batch has no maximum
    written = tf.zeros([tf.shape(maximum_lengths)[0], width], tf.int64)  # the start token, then the result; 0 after it
    count = tf.zeros_like(maximum_lengths, tf.int64)

    def constrained(ids, states, memory):
        inner, written, count = states
        is_next = tf.equal(positions(tf.shape(written)[1]), count[:, tf.newaxis])
        written, count = tf.where(is_next, ids[:, tf.newaxis], written), count + 1
        log_probabilities, inner, auxiliary = step(ids, inner, memory)
        return _ban_seen_ngrams(log_probabilities, written, count, n), (inner, written, count), auxiliary

    return constrained, (states, written, count)


def force_prefix(
    step: StepFunction, states: Any, prefix: tf.Tensor, constraints: Sequence[Constraint] = ()
) -> tuple[StepFunction, Any]:
    """Begin every result with a prefix, then obey `constraints`.

    The prefix overrules the constraints, but they see it: a minimum length counts its tokens. Its log-probability is
    the model's.

    Args:
        step, states: a step function and its first states.
        prefix: int [batch, length], 0 after the last token.
        constraints: applied by `constrain`.
    """

    def with_prefix_token(ids, states, memory):
        inner, remaining = states
        log_probabilities, inner, auxiliary = step(ids, inner, memory)
        token = remaining[:, 0]
        log_p = tf.gather(log_probabilities, token, batch_dims=1)
        remaining = tf.concat([remaining[:, 1:], tf.zeros_like(remaining[:, :1])], axis=1)
        return log_probabilities, (inner, remaining), (auxiliary, token, log_p)

    # What the prefix token's log-probability is before the constraints, auxiliary outputs carry past them.
    remaining = tf.cast(tf.pad(prefix, [[0, 0], [0, 1]]), tf.int64)
    inner, states = constrain(with_prefix_token, (states, remaining), constraints)

    def forced(ids, states, memory):
        log_probabilities, states, (auxiliary, token, log_p) = inner(ids, states, memory)
        token, log_p = token[:, tf.newaxis], log_p[:, tf.newaxis]
        only_token = tf.where(tf.equal(_vocabulary(log_probabilities), token), log_p, NEG_INF)
        return tf.where(token == 0, log_probabilities, only_token), states, auxiliary

    return forced, states


def choose_by_rank(
    step: StepFunction, states: Any, ranks: tf.Tensor, count: int, after: tf.Tensor, end: int
) -> tuple[StepFunction, Any]:
    """At one place of each result, write the token that is the most probable there, or the second, and so on.

    Args:
        step, states: a step function, whose auxiliary outputs are a dictionary, and its first states. The dictionary
            gets "log_p_of_rank" float32 [rows]: the log-probability of that token at that place, 0 elsewhere.
        ranks: int [batch], 0 for the most probable token; `end` is not counted. Where there are too few tokens, nothing
            is found.
        count: all ranks are less.
        after: int [batch], how many tokens come before that place.
        end: the id that ends a result.
    """

    def constrained(ids, states, memory):
        inner, rank, remaining = states
        log_probabilities, inner, auxiliary = step(ids, inner, memory)
        tokens, here = _vocabulary(log_probabilities), remaining == 0
        log_p, best = top_k(tf.where(tf.equal(tokens, end), 2 * NEG_INF, log_probabilities), count)
        missing = tf.zeros([tf.shape(rank)[0], count], tf.int64)  # not by tf.pad: no GPU pads int64
        log_p = tf.concat([log_p, tf.cast(missing, log_p.dtype) + 2 * NEG_INF], axis=1)
        token = tf.concat([tf.cast(best, tf.int64), missing], axis=1)
        log_p, token = (tf.gather(x, rank, batch_dims=1) for x in (log_p, token))
        only = tf.where(tf.equal(tokens, token[:, tf.newaxis]), log_p[:, tf.newaxis], NEG_INF)
        auxiliary = auxiliary | {"log_p_of_rank": tf.where(here, log_p, 0.0)}
        return tf.where(here[:, tf.newaxis], only, log_probabilities), (inner, rank, remaining - 1), auxiliary

    return constrained, (states, tf.cast(ranks, tf.int64), tf.cast(after, tf.int64))


def _ban_seen_ngrams(log_probabilities, written, count, n):
    """Ban every token that followed, anywhere in `written`, the n − 1 tokens that are its last."""
    starts = 1 + positions(tf.maximum(tf.shape(written)[1] - n, 0))  # the start token, at 0, is no part of the result
    same = starts + n <= count[:, tf.newaxis]  # the token after them is written already
    for i in range(n - 1):
        last = tf.gather(written, tf.maximum(count - (n - 1) + i, 0), batch_dims=1)
        same &= tf.equal(tf.gather(written, starts + i, axis=1), last[:, tf.newaxis])
    seen = tf.where(same)  # (row, position of the n-gram)
    followers = tf.gather_nd(written, seen + tf.constant([0, n], tf.int64))
    updates = tf.fill(tf.shape(followers), NEG_INF)
    return tf.tensor_scatter_nd_min(log_probabilities, tf.stack([seen[:, 0], followers], axis=1), updates)


def _vocabulary(log_probabilities):
    return positions(tf.shape(log_probabilities)[1])
