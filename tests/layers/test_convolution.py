"""Convolution over words, of no sentence at all: what a micro-batch of a small batch may have."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.convolution import WordConvolution, max_over_words


def test_a_window_without_a_middle_is_refused():
    with pytest.raises(ValueError, match="width=2: must be odd"):
        WordConvolution(8, 2)


@pytest.mark.parametrize("in_graph", [False, True])
@pytest.mark.parametrize("width", [1, 3, 5])
def test_a_convolution_of_no_sentences_has_its_own_size(width, in_graph):
    layer = WordConvolution(8, width)
    x, mask = tf.zeros([0, 4, 6]), tf.zeros([0, 4], tf.bool)
    with tf.GradientTape() as tape:
        y = (tf.function(layer.__call__) if in_graph else layer)(x, mask)
        loss = tf.reduce_sum(y)
    assert y.shape == (0, 4, 8)
    for gradient in tape.gradient(loss, layer.trainable_variables):
        np.testing.assert_array_equal(gradient, np.zeros(gradient.shape))


def test_a_sentence_without_words_gives_zeros():
    x, mask = tf.fill([2, 3, 4], -1.0), tf.constant([[True, False, False], [False, False, False]])
    np.testing.assert_array_equal(max_over_words(x, mask), [[-1] * 4, [0] * 4])


def test_what_stands_at_padding_changes_no_word_and_becomes_zeros():
    layer, mask = WordConvolution(4, 3), np.arange(5) < np.array([[3], [5]])
    x = np.random.default_rng(1).normal(size=[2, 5, 3]).astype(np.float32)
    other = np.where(mask[:, :, np.newaxis], x, np.float32(7))
    found, expected = (layer(tf.constant(each), tf.constant(mask)).numpy() for each in (other, x))
    np.testing.assert_array_equal(found, expected)
    assert not found[~mask].any()
