"""Weights as an exported model keeps them: as they are, or smaller, and made float32 again inside the graph."""

import keras
import numpy as np
import tensorflow as tf

from tfnmt.errors import UserError

PRECISIONS = ("none", "float16", "int8")


class StoredWeights(tf.Module):
    """The weights of Keras models, apart from the models, in the precision they are served from.

    Args:
        models: Keras models, already built.
        precision: one of `PRECISIONS`. "none" keeps float32. "float16" halves the matrices. "int8" quarters them: each
            column (each row of an embedding) is whole numbers from −127 to 127 times a float32 scale of its own.
            Vectors stay float32.

    Raises:
        UserError: there is no such precision.
    """

    def __init__(self, models, precision="none"):
        super().__init__(name="weights")
        if precision not in PRECISIONS:
            raise UserError(f"quantize={precision}: allowed is one of {', '.join(PRECISIONS)}")
        self._stored = [_stored(weight, precision) for model in models for weight in model.weights]

    def in_use(self, models):
        """`with weights.in_use(models):` what the same models compute in there is computed from the stored weights."""
        weights = (weight for model in models for weight in model.weights)
        values = [stored() for stored in self._stored]
        return keras.StatelessScope(state_mapping=list(zip(weights, values, strict=True)))


class _Whole(tf.Module):
    def __init__(self, value, dtype):
        super().__init__()
        self.value = tf.Variable(value, trainable=False, dtype=dtype)

    def __call__(self):
        return tf.cast(self.value, tf.float32)


class _Scaled(tf.Module):
    def __init__(self, value, axis):
        super().__init__()
        scale = np.maximum(np.abs(value).max(axis=axis, keepdims=True), 1e-30) / 127
        self.scale = tf.Variable(scale, trainable=False, dtype=tf.float32)
        self.value = tf.Variable(np.round(value / scale), trainable=False, dtype=tf.int8)

    def __call__(self):
        return tf.cast(self.value, tf.float32) * self.scale


def _stored(weight, precision):
    value = np.asarray(weight.numpy(), np.float32)
    if precision == "none" or value.ndim < 2:
        return _Whole(value, tf.float32)
    if precision == "float16":
        limit = float(np.finfo(np.float16).max)
        return _Whole(np.clip(value, -limit, limit), tf.float16)
    return _Scaled(value, axis=1 if weight.path.endswith("embeddings") else 0)
