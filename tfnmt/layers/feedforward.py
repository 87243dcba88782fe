"""Layers over sentence vectors: activations, features of a pair, and the multilayer perceptron."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.options import require_whole
from tfnmt.registry import find_entry

PIECES = {"relu": 1, "maxout": 2}
"""How many columns a layer computes for each unit of its output, by activation."""


def activate(a: tf.Tensor, activation: str) -> tf.Tensor:
    """ReLU, max(0, a), or maxout: the larger of two affine maps (Goodfellow et al. 2013, arXiv:1302.4389, eq. 1).

    a [..., units · PIECES[activation]] → [..., units]
    """
    if activation == "relu":
        return tf.nn.relu(a)
    units = a.shape[-1] // PIECES[activation]
    shape = tf.concat([tf.shape(a)[:-1], [units, PIECES[activation]]], axis=0)
    return tf.reduce_max(tf.reshape(a, shape), axis=-1)


def pair_features(roots: tf.Tensor) -> tf.Tensor:
    """[p, h, p − h, p · h] of premises and hypotheses (Bowman et al. 2016, arXiv:1603.06021; Mou et al. 2016).

    float [2 · batch, size], first sentences first → [batch, 4 · size].
    """
    p, h = tf.split(roots, 2, axis=0)
    return tf.concat([p, h, p - h, p * h], axis=-1)


@keras.saving.register_keras_serializable("tfnmt")
class MultilayerPerceptron(keras.layers.Layer):
    """Logits of classes: `layers` hidden layers, each φ(xW + b), then an affine map.

    Batch normalization and dropout apply to the features and to every hidden layer (Bowman et al. 2016).
    With no hidden layer it is logistic regression. The last map starts small, U(−.005, .005), as the paper's.

    Args:
        classes: how many.
        units: size of each hidden layer.
        layers: how many hidden layers.
        activation: φ, "relu" or "maxout".
        batch_normalization: normalize each unit over the batch; rows that are padding do not count.
        dropout: fraction of the units dropped.

    Raises:
        ValueError: there is no such activation, or layers are no whole number from 0, or units or classes from 1.
    """

    def __init__(
        self,
        classes: int,
        units: int,
        layers: int = 1,
        activation: str = "relu",
        batch_normalization: bool = False,
        dropout: float = 0.0,
        **options: Any,
    ):
        super().__init__(**options)
        require_whole(0, layers=layers)
        require_whole(1, classes=classes, units=units)
        self.activation = activation
        self.units = units
        width = units * find_entry("activation", activation, PIECES)
        self.hidden = [
            keras.layers.Dense(width, kernel_initializer="he_normal", name=f"hidden_{i}", dtype=self.dtype_policy.name)
            for i in range(layers)
        ]
        self.normalizations = []
        if batch_normalization:
            self.normalizations = [
                keras.layers.BatchNormalization(momentum=0.9, name=f"normalization_{i}", dtype=self.dtype_policy.name)
                for i in range(layers + 1)
            ]
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy.name)
        last = keras.initializers.RandomUniform(-0.005, 0.005)
        self.output_map = keras.layers.Dense(
            classes, kernel_initializer=last, name="output_map", dtype=self.dtype_policy.name
        )

    def build(self, input_shape: tuple) -> None:
        """`input_shape`: [..., size]."""
        leading, size = (None,) * (len(input_shape) - 1), input_shape[-1]
        sizes = [size, *(self.units for _ in self.hidden)]
        for layer, size in zip((*self.hidden, self.output_map), sizes, strict=True):
            layer.build((*leading, size))
        for normalization, size in zip(self.normalizations, sizes, strict=False):
            normalization.build((*leading, size))

    def call(self, features: tf.Tensor, real: tf.Tensor | None = None, training: bool | None = False) -> tf.Tensor:
        """Features float [..., size] → float [..., classes]; `real` bool [...] is False at rows that do not count."""
        x = self._regularized(features, 0, real, training)
        for i, hidden in enumerate(self.hidden, start=1):
            x = self._regularized(activate(hidden(x), self.activation), i, real, training)
        return self.output_map(x)

    def _regularized(self, x, i, real, training):
        if self.normalizations:
            x = self.normalizations[i](x, training=training, mask=real)
        return self.dropout(x, training=training)
