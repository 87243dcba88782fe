"""Training timed as a user has it: through Keras's `fit`, on batches that are in memory."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from tfnmt_programs.measuring import seconds_of


def timed_fit(model: keras.Model, batches: Sequence[tuple[Any, Any]]) -> tuple[float, Callable[[], float]]:
    """Take a compiled model's first step, and return (the seconds that took, `train`).

    Args:
        model: a compiled Keras model.
        batches: a list of (inputs, labels), NumPy arrays of int32 or structures of such.

    Returns:
        The seconds of the first step, tracing included, and a function that trains on all batches once and returns the
        seconds it took.
    """
    signature = tf.nest.map_structure(lambda array: tf.TensorSpec([None] * array.ndim, tf.int32), batches[0])
    dataset = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature).cache()
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(len(batches))).prefetch(8)
    settings = tf.data.Options()
    settings.autotune.enabled = False  # its thread sometimes sleeps on for seconds when `fit` is done, and `fit` waits
    dataset = dataset.with_options(settings)

    def train(dataset: tf.data.Dataset = dataset) -> float:
        return seconds_of(lambda: model.fit(dataset, shuffle=False, verbose=0))

    return train(dataset.take(1)), train
