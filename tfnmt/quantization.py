"""Quantization of an exported model's weights: float32, float16 or int8; dequantized inside the graph."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from tfnmt.errors import UserError

PRECISIONS = ("none", "float16", "int8")


class StoredWeights(tf.Module):
    """A copy of the weights of Keras models, in the precision in which they are stored.

    Args:
        models: Keras models, already built.
        precision: one of `PRECISIONS`. "none" keeps float32. "float16" halves the matrices. "int8" quarters them: each
            column (each row of an embedding, each output of a convolution) is int8 times a float32 scale of its own.
            Vectors stay float32.
        levels: with "int8", the integer that the largest absolute value of a column becomes.

    Raises:
        UserError: there is no such precision.
    """

    def __init__(self, models: Sequence[keras.Model], precision: str = "none", levels: int = 127):
        super().__init__(name="weights")
        if precision not in PRECISIONS:
            raise UserError(f"quantize={precision}: allowed is one of {', '.join(PRECISIONS)}")
        self._stored = [_stored(weight, precision, levels) for model in models for weight in model.weights]

    def in_use(self, models: Sequence[keras.Model]) -> keras.StatelessScope:
        """`with weights.in_use(models):` the same models compute with the stored weights within it."""
        weights = (weight for model in models for weight in model.weights)
        values = [stored() for stored in self._stored]
        return keras.StatelessScope(state_mapping=list(zip(weights, values, strict=True)))


class _Cast(tf.Module):
    def __init__(self, value, dtype):
        super().__init__()
        self.value = tf.Variable(value, trainable=False, dtype=dtype)

    def __call__(self):
        return tf.cast(self.value, tf.float32)


class _Scaled(tf.Module):
    def __init__(self, value, is_table, levels):
        super().__init__()
        axis = 1 if is_table else tuple(range(value.ndim - 1))  # of a convolution, all windows and inputs of an output
        scale = np.maximum(np.abs(value).max(axis=axis, keepdims=True), 1e-30) / levels
        self.scale = tf.Variable(scale, trainable=False, dtype=tf.float32)
        self.value = tf.Variable(np.round(value / scale), trainable=False, dtype=tf.int8)
        self.is_table = is_table

    def __call__(self):
        return tf.cast(self.value, tf.float32) * self.scale


def _stored(weight, precision, levels):
    value = np.asarray(weight.numpy(), np.float32)
    if precision == "none" or value.ndim < 2:
        return _Cast(value, tf.float32)
    if precision == "float16":
        limit = float(np.finfo(np.float16).max)
        return _Cast(np.clip(value, -limit, limit), tf.float16)
    return _Scaled(value, weight.path.endswith("embeddings"), levels)
