"""Input signatures, and batches of which the graph does not know the size."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def function_of_texts(function: Callable, *names: str) -> tf.types.experimental.PolymorphicFunction:
    """A function of texts as a graph: each of its inputs is string [rows], and has the name that a client gives it."""
    signature = [tf.TensorSpec([None], tf.string, name) for name in names]
    return tf.function(function, input_signature=signature, autograph=False)


def any_rows(tensors: Any) -> Any:
    """The same tensors [rows, ...], in any structure, of which the graph does not know how many rows they have, as a
    loop wants them that has more or fewer of them each time.

    A shape invariant of the loop is not enough: TensorFlow's optimizer would still take the first shape for that of
    every iteration.
    """

    def of_any(x):
        return tf.raw_ops.PlaceholderWithDefault(input=x, shape=tf.TensorShape([None]).concatenate(x.shape[1:]))

    return tf.nest.map_structure(of_any, tensors)
