"""Convolution over the words of a sentence, max pooling over all words, and the inception module."""

import functools
from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.feedforward import PIECES, activate
from tfnmt.registry import find_entry


@keras.saving.register_keras_serializable("tfnmt")
class WordConvolution(keras.layers.Layer):
    """y_i = φ(W [x_{i−k}; …; x_{i+k}] + b) over windows of `width` = 2k + 1 words (Kim 2014, arXiv:1408.5882, eq. 2).

    The sentence is padded with zeros on both sides.

    Args:
        size: size of y_i.
        width: words in a window.
        activation: φ, "relu" or "maxout".

    Raises:
        ValueError: the width is even, or there is no such activation.
    """

    def __init__(self, size: int, width: int, activation: str = "relu", **options: Any):
        super().__init__(**options)
        if width % 2 == 0:
            raise ValueError(f"width={width}: must be odd, so that a window has a middle")
        self.activation = activation
        size *= find_entry("activation", activation, PIECES)
        self.convolution = keras.layers.Conv1D(
            size, width, padding="same", name="convolution", dtype=self.dtype_policy.name
        )

    def build(self, input_shape: tuple) -> None:
        self.convolution.build(input_shape)

    def call(self, x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """x float [sentences, words, input_size], mask bool [sentences, words] → [sentences, words, size], zeros at
        padding."""
        sentences = tf.shape(x)[0]
        # One more where there is none: oneDNN's convolution of nothing has its input's shape, on some processors.
        padded = tf.pad(hide_padding(x, mask), [[0, tf.cast(sentences == 0, tf.int32)], [0, 0], [0, 0]])
        y = self.convolution(padded)[:sentences]
        return hide_padding(activate(y, self.activation), mask)


@keras.saving.register_keras_serializable("tfnmt")
class Inception(keras.layers.Layer):
    """Windows of several widths side by side, each after a window of one word that reduces the size of its input.

    Szegedy et al. 2014, arXiv:1409.4842, figure 2b, over words in place of pixels: branches 1; 1 → 3; 1 → 5;
    the maximum of 3 neighbours → 1; their outputs are concatenated.

    Args:
        size: size of the output, 4 or more: a quarter for each branch, and what is left over for the first one.
        activation: "relu" or "maxout".

    Raises:
        ValueError: the size is less than 4.
    """

    WIDTHS = (3, 5)

    def __init__(self, size: int, activation: str = "relu", **options: Any):
        super().__init__(**options)
        if size < 4:
            raise ValueError(f"an inception module's size is 4 or more, not {size}")
        quarter = size // 4
        convolution = functools.partial(WordConvolution, activation=activation, dtype=self.dtype_policy.name)
        self.single = convolution(size - 3 * quarter, 1, name="single")
        self.reducers = [convolution(quarter, 1, name=f"reduce_{width}") for width in self.WIDTHS]
        self.windows = [convolution(quarter, width, name=f"window_{width}") for width in self.WIDTHS]
        self.pooled = convolution(quarter, 1, name="pooled")
        self.quarter = quarter

    def build(self, input_shape: tuple) -> None:
        for layer in (self.single, *self.reducers, self.pooled):
            layer.build(input_shape)
        for window in self.windows:
            window.build((None, None, self.quarter))

    def call(self, x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """x float [sentences, words, input_size], mask bool [sentences, words] → [sentences, words, size], zeros at
        padding."""
        branches = [self.single(x, mask)]
        for reducer, window in zip(self.reducers, self.windows, strict=True):
            branches.append(window(reducer(x, mask), mask))
        neighbours = tf.nn.max_pool1d(hide_padding(x, mask, x.dtype.min), 3, strides=1, padding="SAME")
        branches.append(self.pooled(neighbours, mask))
        return tf.concat(branches, axis=-1)


def hide_padding(x: tf.Tensor, mask: tf.Tensor, value: float = 0.0) -> tf.Tensor:
    """x [sentences, words, size] with `value` where mask [sentences, words] is False."""
    return tf.where(mask[:, :, tf.newaxis], x, tf.cast(value, x.dtype))


def max_over_words(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Max pooling: the largest value of each unit over the real words, [sentences, words, size] → [sentences, size].

    A sentence without words gives zeros.
    """
    largest = tf.reduce_max(hide_padding(x, mask, x.dtype.min), axis=1)
    return tf.where(tf.reduce_any(mask, axis=1, keepdims=True), largest, tf.zeros_like(largest))
