"""What a graph is told of shapes."""

from typing import Any

import tensorflow as tf


def any_rows(tensors: Any) -> Any:
    """The same tensors [rows, ...], in any structure, of which the graph does not know how many rows they have, as a
    loop wants them that has more or fewer of them each time.

    A shape invariant of the loop is not enough: TensorFlow's optimizer would still take the first shape for that of
    every iteration.
    """

    def of_any(x):
        return tf.raw_ops.PlaceholderWithDefault(input=x, shape=tf.TensorShape([None]).concatenate(x.shape[1:]))

    return tf.nest.map_structure(of_any, tensors)
