"""What every search returns."""

from typing import Any, NamedTuple

import tensorflow as tf


class Found(NamedTuple):
    """The results of a search, n for each sentence, best first. Tensors all; a `tf.function` can return it.

    Where there are fewer than n results, the last are empty and their scores and log-probabilities `NEVER`.
    """

    ids: tf.Tensor
    """int32 [batch, n, length]: the words, 0 after the last; `end` is no part of them."""
    lengths: tf.Tensor
    """int32 [batch, n]: how many words."""
    scores: tf.Tensor
    """float32 [batch, n]: what the results are ordered by."""
    log_probabilities: tf.Tensor
    """float32 [batch, n]: Σ log p of the words and of `end`, if a result has come to it."""
    notes: Any
    """What the step noted of each word, [batch, n, length, ...]; 0 after the last."""
