"""What every search works on and returns: a step function and a `SearchResult`. Ensembles of step functions.

    step(ids, states, memory) -> (log_probabilities, states, auxiliary)

ids: int64 [rows], the previous token of each hypothesis, at first the start token.
states: any structure of tensors [rows, ...] that one step hands to the next.
memory: any structure of tensors [sentences, ...] that every step gets, such as the encoded sentences.
log_probabilities: float32 [rows, vocabulary_size], of the next token.
auxiliary: any structure of tensors [rows, ...] about the next token, such as the attention that it was predicted with.
    A search returns those of every token of its results.

A row is one hypothesis. A beam search has as many for each sentence, one after the other; elsewhere a row is a
sentence. The memory is there once for each sentence, so that a step reads it once for all hypotheses. Searches remove
sentences from the batch (`tfnmt.search.compaction`), so whatever has one entry a row or a sentence is part of the
states or of the memory. A step function knows nothing of the search, and a search nothing of what the tokens mean.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

StepFunction = Callable[[tf.Tensor, Any, Any], tuple[tf.Tensor, Any, Any]]

NEG_INF = -1e9
"""The log-probability of what must not be chosen. It is finite, so that sums and differences are numbers; what
has been added to it is still below `NEG_INF / 2`, which no log-probability of real tokens reaches."""


class SearchResult(NamedTuple):
    """n results for each sentence, best first. All are tensors, so that a `tf.function` can return it.

    Where fewer than n results were found, the last are empty and their scores and log-probabilities are `NEG_INF`.
    """

    ids: tf.Tensor
    """int32 [batch, n, length]: the tokens, without `end`; 0 after the last."""
    lengths: tf.Tensor
    """int32 [batch, n]: the number of tokens."""
    scores: tf.Tensor
    """float32 [batch, n]: what the results are ordered by."""
    log_probabilities: tf.Tensor
    """float32 [batch, n]: Σ log p of the tokens, and of `end` unless the maximum length cut the result."""
    auxiliary: Any
    """The step's auxiliary outputs for each token, [batch, n, length, ...]; 0 after the last."""


def ensemble(steps: Sequence[StepFunction]) -> StepFunction:
    """The step function of an ensemble: the mean of the probabilities that several step functions give.

    Its states and its memory are tuples with those of each. Its auxiliary outputs are the mean of theirs, which must be
    floats of one shape.
    """

    def mean_step(ids, states, memory):
        outputs = [step(ids, *own) for step, *own in zip(steps, states, memory, strict=True)]
        log_probabilities, states, auxiliary = zip(*outputs, strict=True)
        log_mean = tf.reduce_logsumexp(tf.stack(log_probabilities), axis=0) - tf.math.log(float(len(steps)))
        return log_mean, states, tf.nest.map_structure(lambda *xs: tf.add_n(xs) / len(steps), *auxiliary)

    return mean_step
