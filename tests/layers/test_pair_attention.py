"""Attention between two sentences: its equations in NumPy, and what neither padding nor the order may change."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.pair_attention import PairAttention

SIZE, UNITS = 3, 4
LENGTHS = [4, 2, 1, 5]
"""Nodes of two first sentences and of the two that they are compared with."""


@pytest.fixture(scope="module")
def layer():
    keras.utils.set_random_seed(1)
    layer = PairAttention(UNITS)
    layer.build((None, None, SIZE))
    random = np.random.default_rng(1)
    for weight in layer.trainable_variables:
        weight.assign(random.normal(size=weight.shape))
    return layer


def nodes_of(lengths, width, padding=0.0):
    """(nodes, mask): random vectors, the same ones whatever the width, and `padding` after them."""
    nodes = np.full([len(lengths), width, SIZE], padding, np.float32)
    for n, length in enumerate(lengths):
        nodes[n, :length] = np.random.default_rng(n).normal(size=[length, SIZE])
    return nodes, np.arange(width) < np.array(lengths)[:, np.newaxis]


def by_hand(layer, a, b):
    """The sentence a beside b: [mean_i v_i; max_i v_i]."""
    W_F, b_F, W, bias = (weight.numpy() for weight in (*layer.F.weights, *layer.compare.weights))
    F = [np.maximum(x @ W_F + b_F, 0) for x in (a, b)]
    e = np.exp(F[0] @ F[1].T / np.sqrt(UNITS))
    beta = e / e.sum(axis=1, keepdims=True) @ b
    v = np.maximum(np.concatenate([a, beta, a - beta, a * beta], axis=1) @ W + bias, 0)
    return np.concatenate([v.mean(axis=0), v.max(axis=0)])


def test_equals_the_equations(layer):
    nodes, mask = nodes_of(LENGTHS, 5)
    found = layer(tf.constant(nodes), real=tf.constant(mask))
    real = [sentence[:length] for sentence, length in zip(nodes, LENGTHS, strict=True)]
    for n, other in ((0, 2), (1, 3), (2, 0), (3, 1)):
        np.testing.assert_allclose(found[n], by_hand(layer, real[n], real[other]), rtol=1e-4)


def test_padding_changes_nothing(layer):
    expected = layer(*map(tf.constant, nodes_of(LENGTHS, 5)))
    wider = layer(*map(tf.constant, nodes_of(LENGTHS, 9, padding=7.0)))
    np.testing.assert_allclose(wider, expected, rtol=1e-5)


def test_both_sentences_are_treated_alike(layer):
    nodes, mask = nodes_of(LENGTHS, 5)
    found = layer(tf.constant(nodes), tf.constant(mask))
    exchanged = layer(tf.constant(np.roll(nodes, 2, axis=0)), tf.constant(np.roll(mask, 2, axis=0)))
    np.testing.assert_allclose(np.roll(exchanged, 2, axis=0), found, rtol=1e-5)
