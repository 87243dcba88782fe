"""The three kinds of attention against their equations in NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.invariants import invariants_for_one_step
from tfnmt.layers.registry import ATTENTIONS

BATCH, LENGTH, SIZE, UNITS = 3, 5, 4, 3
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 0, 0, 0]], bool)
RANDOM = np.random.default_rng(1)


def made(kind, query_size=SIZE):
    attention = ATTENTIONS[kind](UNITS, dtype="float64")
    attention.build([(None, query_size), (None, None, SIZE)])
    for weight in attention.trainable_variables:
        weight.assign(RANDOM.normal(size=weight.shape))
    return attention


def attend(attention, z, h, mask):
    memory = attention.memory(tf.constant(h), tf.constant(mask))
    matrices, others = attention.memory_invariants(memory)
    invariants = invariants_for_one_step(attention.loop_weights() | matrices, attention.loop_constants() | others)
    return [x.numpy() for x in attention.attend(tf.constant(z), invariants)]


def energy(attention, kind, z, h_j):
    """e_j of one example."""
    if kind == "dot":
        return z @ h_j
    W_a = attention.W_a.numpy()
    if kind == "general":
        return h_j @ W_a @ z
    hidden = np.tanh(z @ W_a + h_j @ attention.U_a.numpy() + attention.b.numpy())
    return hidden @ attention.v.numpy()[:, 0]


@pytest.mark.parametrize(("kind", "query_size"), [("additive", 2), ("dot", SIZE), ("general", 2)])
def test_context_and_weights_are_the_equations(kind, query_size):
    attention = made(kind, query_size)
    z, h = RANDOM.normal(size=[BATCH, query_size]), RANDOM.normal(size=[BATCH, LENGTH, SIZE])
    context, weights = attend(attention, z, h, MASK)
    for n in range(BATCH):
        e = np.array([energy(attention, kind, z[n], h[n, j]) for j in range(LENGTH) if MASK[n, j]])
        alpha = np.exp(e) / np.sum(np.exp(e))
        np.testing.assert_allclose(weights[n], np.pad(alpha, (0, LENGTH - len(alpha))), atol=1e-12)
        np.testing.assert_allclose(context[n], sum(a * h_j for a, h_j in zip(alpha, h[n], strict=False)), atol=1e-12)


@pytest.mark.parametrize("kind", sorted(ATTENTIONS.keys() - {"none"}))
def test_weights_sum_to_one_and_padding_has_none(kind):
    # Padding with states as large as can be: it must not count, however high its energy would be.
    h = np.where(MASK[:, :, np.newaxis], RANDOM.normal(size=[BATCH, LENGTH, SIZE]), 1e6)
    _, weights = attend(made(kind), np.ones([BATCH, SIZE]), h, MASK)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert (weights[~MASK] == 0).all()
    assert (weights[MASK] > 0).all()


@pytest.mark.parametrize("kind", sorted(ATTENTIONS.keys() - {"none"}))
def test_other_ranks_are_refused(kind):
    layer = ATTENTIONS[kind](UNITS)
    for z, h in (([2, 4, 3], [2, 5, 3]), ([2, 3], [5, 3])):
        with pytest.raises(ValueError, match=r"z has the shape \(2.* one query for each example"):
            layer([tf.zeros(z), tf.zeros(h)])


def test_additive_attention_needs_units():
    with pytest.raises(ValueError, match="has no units"):
        ATTENTIONS["additive"]()([tf.zeros([2, 3]), tf.zeros([2, 5, 3])])


def test_dot_attention_needs_states_of_one_size():
    with pytest.raises(ValueError, match="decoder's are 2, the encoder's 4"):
        ATTENTIONS["dot"](UNITS).build([(None, 2), (None, None, 4)])
