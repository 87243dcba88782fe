"""Encoders that read a sentence as a flat sequence of words: what the tree encoders are measured against.

All have one interface, that of the tree encoders too: `encoder(inputs, training=...)` with inputs["words"] int32
[sentences, words], padded with 0, returns {"root": float [sentences, output_size]}, the vector of the sentence, and
"nodes" float [sentences, words, output_size], a vector for each word, of which it is made. Padding changes nothing in
"root"; in "nodes" its places have any values. Words become vectors by the layer `embedding(ids, training)` that an
encoder is given, such as `tfnmt.layers.WordVectors`.
"""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.convolution import Inception, WordConvolution, max_over_words
from tfnmt.layers.embedding import from_configuration, require_word_vectors
from tfnmt.layers.recurrent_layers import build_cells, make_cells, read_layers


class FlatEncoder(keras.layers.Layer):
    """What the encoders share.

    Args:
        embedding: the layer from words to vectors.
        output_size: size of "root", and of each of the "nodes".

    Raises:
        TypeError: the embedding is no such layer as `tfnmt.layers.WordVectors`.
    """

    def __init__(self, embedding: keras.layers.Layer, output_size: int, **options: Any):
        super().__init__(autocast=False, **options)
        self.embedding = require_word_vectors(embedding)
        self.output_size = output_size
        self.settings: dict[str, Any] = {}

    def build(self, input_shape: Any = None) -> None:
        if not self.embedding.built:  # else it was loaded with the layer
            self.embedding.build(None)

    def get_config(self) -> dict:
        """The arguments of the constructor. The embedding is the layer itself, which several encoders may share: Keras
        saves it once."""
        return {**super().get_config(), "embedding": self.embedding, **self.settings}

    @classmethod
    def from_config(cls, config: dict) -> "FlatEncoder":
        """The inverse of `get_config`."""
        return cls(**config | {"embedding": from_configuration(config["embedding"])})


@keras.saving.register_keras_serializable("tfnmt")
class BagOfWords(FlatEncoder):
    """root = Σ_i x_i: the sum of the words' vectors."""

    def __init__(self, embedding: keras.layers.Layer, **options: Any):
        super().__init__(embedding, require_word_vectors(embedding).output_size, **options)

    def call(self, inputs: dict[str, tf.Tensor], training: bool | None = False) -> dict[str, tf.Tensor]:
        """As the module says."""
        x = self.embedding(inputs["words"], training=training)
        return {"root": tf.reduce_sum(x, axis=1), "nodes": x}


@keras.saving.register_keras_serializable("tfnmt")
class Recurrent(FlatEncoder):
    """root = h_T, the state of a recurrent network after the last word; of both directions, side by side.

    Args:
        embedding: the layer from words to vectors.
        units: size of h, in each direction.
        cell: "gru" or "lstm".
        layers: number of layers.
        bidirectional: read from both ends.
        state_dropout: fraction dropped of h in its product with U, one mask for all times.

    Raises:
        ValueError: there is no such cell, or layers or units are no whole numbers from 1.
    """

    def __init__(
        self,
        embedding: keras.layers.Layer,
        units: int,
        cell: str = "gru",
        layers: int = 1,
        bidirectional: bool = False,
        state_dropout: float = 0.0,
        **options: Any,
    ):
        directions = 2 if bidirectional else 1
        super().__init__(embedding, directions * units, **options)
        self.settings = {
            "units": units,
            "cell": cell,
            "layers": layers,
            "bidirectional": bidirectional,
            "state_dropout": state_dropout,
        }
        self.directions = directions
        self.cells = make_cells(cell, units, layers, bidirectional, self.dtype_policy.name)
        self.state_dropout = keras.layers.Dropout(state_dropout, dtype=self.dtype_policy.name)

    def build(self, input_shape: Any = None) -> None:
        super().build(input_shape)
        build_cells(self.cells, self.directions, self.embedding.output_size)

    def call(self, inputs: dict[str, tf.Tensor], training: bool | None = False) -> dict[str, tf.Tensor]:
        """As the module says."""
        mask = tf.transpose(inputs["words"]) != 0
        states = tf.transpose(self.embedding(inputs["words"], training=training), [1, 0, 2])
        states, last = read_layers(states, mask, self.cells, self.directions, self.state_dropout, training)
        return {"root": last, "nodes": tf.transpose(states, [1, 0, 2])}


@keras.saving.register_keras_serializable("tfnmt")
class Convolutional(FlatEncoder):
    """root = max_i y_i over y_i of windows of several widths, side by side (Kim 2014, arXiv:1408.5882).

    Args:
        embedding: the layer from words to vectors.
        size: size of y_i for each width.
        widths: words in a window; odd.
        activation: "relu" or "maxout".

    Raises:
        ValueError: there are no widths, one is even, or there is no such activation.
    """

    def __init__(
        self,
        embedding: keras.layers.Layer,
        size: int,
        widths: tuple[int, ...] = (1, 3, 5),
        activation: str = "relu",
        **options: Any,
    ):
        if not widths:
            raise ValueError("widths=(): there must be one or more")
        super().__init__(embedding, size * len(widths), **options)
        self.settings = {"size": size, "widths": list(widths), "activation": activation}
        self.windows = [
            WordConvolution(size, width, activation, name=f"window_{width}", dtype=self.dtype_policy.name)
            for width in widths
        ]

    def build(self, input_shape: Any = None) -> None:
        super().build(input_shape)
        for window in self.windows:
            window.build((None, None, self.embedding.output_size))

    def call(self, inputs: dict[str, tf.Tensor], training: bool | None = False) -> dict[str, tf.Tensor]:
        """As the module says."""
        mask = inputs["words"] != 0
        x = self.embedding(inputs["words"], training=training)
        y = tf.concat([window(x, mask) for window in self.windows], axis=-1)
        return {"root": max_over_words(y, mask), "nodes": y}


@keras.saving.register_keras_serializable("tfnmt")
class InceptionEncoder(FlatEncoder):
    """root = max_i y_i over the output of `Inception` modules, each on the one before.

    Args:
        embedding: the layer from words to vectors.
        size: size of y_i, 4 or more.
        layers: number of modules.
        activation: "relu" or "maxout".
    """

    def __init__(
        self, embedding: keras.layers.Layer, size: int, layers: int = 1, activation: str = "relu", **options: Any
    ):
        super().__init__(embedding, size, **options)
        self.settings = {"size": size, "layers": layers, "activation": activation}
        self.modules = [
            Inception(size, activation, name=f"module_{i}", dtype=self.dtype_policy.name) for i in range(layers)
        ]

    def build(self, input_shape: Any = None) -> None:
        super().build(input_shape)
        for i, module in enumerate(self.modules):
            module.build((None, None, self.output_size if i else self.embedding.output_size))

    def call(self, inputs: dict[str, tf.Tensor], training: bool | None = False) -> dict[str, tf.Tensor]:
        """As the module says."""
        mask = inputs["words"] != 0
        y = self.embedding(inputs["words"], training=training)
        for module in self.modules:
            y = module(y, mask)
        return {"root": max_over_words(y, mask), "nodes": y}
