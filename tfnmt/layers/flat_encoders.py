"""Encoders that read a sentence as a flat sequence of words: what the tree encoders are measured against.

All have one interface, that of the tree encoders too: `encoder(batch, training=...)` with batch["words"] int32
[sentences, words], padded with 0, gives {"root": float [sentences, output_size]}, the vector of the sentence. Padding
changes nothing. Words become vectors by the layer `embedding(ids, training)` that an encoder is given.
"""

import keras
import tensorflow as tf

from tfnmt.layers.cells import CELLS
from tfnmt.layers.convolution import Inception, WordConvolution, largest_over_words
from tfnmt.layers.encoder import read_layer


class BagOfWords(keras.layers.Layer):
    """root = Σ_i x_i: the sum of the words' vectors."""

    def __init__(self, embedding, **options):
        super().__init__(**options)
        self.embedding = embedding
        self.output_size = embedding.output_size

    def build(self, batch_shape=None):
        self.embedding.build()

    def call(self, batch, training=False):
        """As the module says."""
        return {"root": tf.reduce_sum(self.embedding(batch["words"], training=training), axis=1)}


class Recurrent(keras.layers.Layer):
    """root = h_T, the state of a recurrent network after the last word; of both directions, side by side.

    Args:
        embedding: the layer from words to vectors.
        units: size of h, in each direction.
        cell: "gru" or "lstm".
        layers: how many recurrences stand on one another.
        bidirectional: read from both ends.
        state_dropout: fraction dropped of h in its product with U, one mask for all times.
    """

    def __init__(self, embedding, units, cell="gru", layers=1, bidirectional=False, state_dropout=0.0, **options):
        super().__init__(**options)
        self.embedding = embedding
        self.directions = 2 if bidirectional else 1
        self.output_size = units * self.directions
        ways = ("forward", "backward")[: self.directions]
        self.cells = [CELLS[cell](units, name=f"layer_{i}_{way}") for i in range(layers) for way in ways]
        self.state_dropout = keras.layers.Dropout(state_dropout)

    def build(self, batch_shape=None):
        self.embedding.build()
        for i, cell in enumerate(self.cells):
            cell.build(self.output_size if i >= self.directions else self.embedding.output_size)

    def call(self, batch, training=False):
        """As the module says."""
        words = tf.transpose(batch["words"])
        states = tf.transpose(self.embedding(batch["words"], training=training), [1, 0, 2])
        for i in range(0, len(self.cells), self.directions):
            cells = self.cells[i : i + self.directions]
            states, last = read_layer(states, words != 0, cells, self.state_dropout, training)
        return {"root": last}


class Convolutional(keras.layers.Layer):
    """root = max_i y_i over y_i of windows of several widths, side by side (Kim 2014, arXiv:1408.5882).

    Args:
        embedding: the layer from words to vectors.
        size: size of y_i for each width.
        widths: words in a window; odd.
        activation: "relu" or "maxout".
    """

    def __init__(self, embedding, size, widths=(1, 3, 5), activation="relu", **options):
        super().__init__(**options)
        self.embedding = embedding
        self.output_size = size * len(widths)
        self.windows = [WordConvolution(size, width, activation, name=f"window_{width}") for width in widths]

    def build(self, batch_shape=None):
        self.embedding.build()
        for window in self.windows:
            window.build((None, None, self.embedding.output_size))

    def call(self, batch, training=False):
        """As the module says."""
        mask = batch["words"] != 0
        x = self.embedding(batch["words"], training=training)
        return {"root": tf.concat([largest_over_words(window(x, mask), mask) for window in self.windows], axis=-1)}


class InceptionEncoder(keras.layers.Layer):
    """root = max_i y_i over the output of `Inception` modules that stand on one another.

    Args:
        embedding: the layer from words to vectors.
        size: size of y_i, 4 or more.
        layers: how many modules.
        activation: "relu" or "maxout".
    """

    def __init__(self, embedding, size, layers=1, activation="relu", **options):
        super().__init__(**options)
        self.embedding = embedding
        self.output_size = size
        self.modules = [Inception(size, activation, name=f"module_{i}") for i in range(layers)]

    def build(self, batch_shape=None):
        self.embedding.build()
        for i, module in enumerate(self.modules):
            module.build((None, None, self.output_size if i else self.embedding.output_size))

    def call(self, batch, training=False):
        """As the module says."""
        mask = batch["words"] != 0
        y = self.embedding(batch["words"], training=training)
        for module in self.modules:
            y = module(y, mask)
        return {"root": largest_over_words(y, mask)}
