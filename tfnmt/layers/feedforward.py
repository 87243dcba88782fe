"""What stands on sentence vectors: features of a pair, and the network that scores classes."""

import keras
import tensorflow as tf

from tfnmt.layers.maxout import PIECES, activate


def pair_features(roots):
    """[p, h, p − h, p · h] of premises and hypotheses (Bowman et al. 2016, section 3.3; Mou et al. 2016).

    float [2 · batch, size], first sentences first → [batch, 4 · size].
    """
    p, h = tf.split(roots, 2, axis=0)
    return tf.concat([p, h, p - h, p * h], axis=-1)


class MultilayerPerceptron(keras.layers.Layer):
    """Scores of classes: `layers` hidden layers, each φ(xW + b), then an affine map; softmax makes probabilities.

    Batch normalisation and dropout apply to the features and to every hidden layer (Bowman et al. 2016, section 3.3).
    With no hidden layer it is logistic regression. The last map starts small, U(−.005, .005), as the paper's.

    Args:
        classes: how many.
        units: size of each hidden layer.
        layers: how many hidden layers.
        activation: φ, "relu" or "maxout".
        batch_normalization: normalise each unit over the batch; rows that are padding do not count.
        dropout: fraction of the units dropped.
    """

    def __init__(self, classes, units, layers=1, activation="relu", batch_normalization=False, dropout=0.0, **options):
        super().__init__(**options)
        self.activation = activation
        self.units = units
        width = units * PIECES[activation]
        self.hidden = [
            keras.layers.Dense(width, kernel_initializer="he_normal", name=f"hidden_{i}") for i in range(layers)
        ]
        self.normalizations = []
        if batch_normalization:
            self.normalizations = [
                keras.layers.BatchNormalization(momentum=0.9, name=f"normalization_{i}") for i in range(layers + 1)
            ]
        self.dropout = keras.layers.Dropout(dropout)
        last = keras.initializers.RandomUniform(-0.005, 0.005)
        self.output_map = keras.layers.Dense(classes, kernel_initializer=last, name="output_map")

    def build(self, features_shape):
        """`features_shape`: the last dimension counts, and whether there are two or three."""
        leading, size = (None,) * (len(features_shape) - 1), features_shape[-1]
        sizes = [size, *(self.units for _ in self.hidden)]
        for layer, size in zip((*self.hidden, self.output_map), sizes, strict=True):
            layer.build((*leading, size))
        for normalization, size in zip(self.normalizations, sizes, strict=False):
            normalization.build((*leading, size))

    def call(self, features, real=None, training=False):
        """Features float [..., size] → float [..., classes]; `real` bool [...] is False at rows that do not count."""
        x = self._regularised(features, 0, real, training)
        for i, hidden in enumerate(self.hidden, start=1):
            x = self._regularised(activate(hidden(x), self.activation), i, real, training)
        return self.output_map(x)

    def _regularised(self, x, i, real, training):
        if self.normalizations:
            x = self.normalizations[i](x, training=training, mask=real)
        return self.dropout(x, training=training)
