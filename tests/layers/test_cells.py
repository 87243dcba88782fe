"""GRU and LSTM do what their equations say, and what Keras's own layers do."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.cells import GRUCell, LSTMCell
from tfnmt.layers.invariants import invariants_for_one_step
from tfnmt.layers.recurrence import recur
from tfnmt.layers.registry import CELLS

pytestmark = pytest.mark.usefixtures("float64")

BATCH, INPUT, UNITS, TIME = 3, 2, 4, 5
RANDOM = np.random.default_rng(1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def made(cell_class, **options):
    """A cell whose every weight, biases and gains too, is a random number."""
    cell = cell_class(UNITS, **options)
    cell.build((None, INPUT))
    for weight in cell.trainable_variables:
        weight.assign(RANDOM.normal(size=weight.shape))
    return cell


def random(*shape):
    return tf.constant(RANDOM.normal(size=shape))


def one_step(cell, s, states, dropout_mask=None):
    invariants = invariants_for_one_step(cell.loop_weights(), cell.loop_constants(dropout_mask))
    return cell.step(cell.project(s), states, invariants)


def whole_sequence(cell, s, mask=None):
    """s [time, batch, INPUT] → h [time, batch, UNITS] and the last states, from h = 0."""
    zeros = tf.zeros([BATCH, UNITS], s.dtype)

    def step(inputs, states, invariants):
        states = cell.step(*inputs, states, invariants)
        return states[:1], states

    (h,), last = recur(
        step,
        inputs=(cell.project(s),),
        states=(zeros,) * cell.number_of_states,
        weights=cell.loop_weights(),
        output_sizes=(UNITS,),
        constants=cell.loop_constants(),
        mask=mask,
    )
    return h, last


def test_gru_step_is_its_equations():
    cell, s, h = made(GRUCell), random(BATCH, INPUT), random(BATCH, UNITS)
    W_r, W_u, W = np.split(cell.W.numpy(), 3, axis=1)
    U_r, U_u, U = np.split(cell.U.numpy(), 3, axis=1)
    b_r, b_u, b = np.split(cell.b.numpy(), 3)
    r = sigmoid(s @ W_r + h @ U_r + b_r)
    u = sigmoid(s @ W_u + h @ U_u + b_u)
    candidate = np.tanh(s @ W + r * (h @ U) + b)
    (after,) = one_step(cell, s, (h,))
    np.testing.assert_allclose(after, u * h + (1 - u) * candidate, atol=1e-14)


def test_lstm_step_is_its_equations():
    cell, s, h, c = made(LSTMCell), random(BATCH, INPUT), random(BATCH, UNITS), random(BATCH, UNITS)
    a = s @ cell.W.numpy() + h @ cell.U.numpy() + cell.b.numpy()
    i, f, o, g = np.split(np.asarray(a), 4, axis=1)
    expected_c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(g)
    after_h, after_c = one_step(cell, s, (h, c))
    np.testing.assert_allclose(after_c, expected_c, atol=1e-14)
    np.testing.assert_allclose(after_h, sigmoid(o) * np.tanh(expected_c), atol=1e-14)


def test_layer_normalization_normalises_both_products():
    cell, s, h = made(GRUCell, layer_normalization=True), random(BATCH, INPUT), random(BATCH, UNITS)

    def normalised(x):
        x = np.asarray(x)
        return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)

    of_input = normalised(s @ cell.W.numpy()) * cell.gain_s.numpy() + cell.b.numpy()
    of_state = normalised(h @ cell.U.numpy()) * cell.gain_h.numpy() + cell.bias_h.numpy()
    r, u = (sigmoid(of_input + of_state)[:, UNITS * i : UNITS * (i + 1)] for i in (0, 1))
    candidate = np.tanh(of_input[:, 2 * UNITS :] + r * of_state[:, 2 * UNITS :])
    np.testing.assert_allclose(one_step(cell, s, (h,))[0], u * h + (1 - u) * candidate, atol=1e-12)


def test_inputs_projected_inside_a_loop_are_those_projected_before_it():
    for options in ({}, {"layer_normalization": True}):
        cell, s = made(GRUCell, **options), random(BATCH, INPUT)
        invariants = invariants_for_one_step(cell.loop_weights(with_inputs=True), cell.loop_constants())
        np.testing.assert_allclose(cell.project(s, invariants), cell.project(s), atol=1e-14)


def test_dropout_mask_multiplies_the_state_in_its_product_with_u_alone():
    """Units dropped are as rows of zeros in U; how much of the state is kept does not depend on the mask."""
    cell, s, h = made(GRUCell), random(BATCH, INPUT), random(BATCH, UNITS)
    mask = np.array([2.0, 0.0, 2.0, 0.0])
    masked = one_step(cell, s, (h,), tf.constant(np.tile(mask, [BATCH, 1])))
    cell.U.assign(mask[:, np.newaxis] * cell.U.numpy())
    np.testing.assert_allclose(masked, one_step(cell, s, (h,)), atol=1e-14)


def masked_like_keras():
    """Inputs, and a mask of which each row begins with a word, as Keras wants it: zeros before the first one."""
    mask = tf.constant([[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0], [1, 1, 0]]) == 1
    return random(TIME, BATCH, INPUT), mask


def compare_with_keras(cell, layer, s, mask):
    h, last = whole_sequence(cell, s, mask)
    expected_h, *expected_last = layer(tf.transpose(s, [1, 0, 2]), mask=tf.transpose(mask))
    for ours, theirs in zip(last, expected_last, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    keep = mask.numpy()
    np.testing.assert_allclose(h.numpy()[keep], tf.transpose(expected_h, [1, 0, 2]).numpy()[keep], atol=1e-12)


def test_gru_equals_keras():
    cell, (s, mask) = made(GRUCell), masked_like_keras()
    layer = keras.layers.GRU(UNITS, return_sequences=True, return_state=True, reset_after=True)
    layer.build((BATCH, TIME, INPUT))

    def in_order_of_keras(weight):  # ours: r, u, h̃; Keras: u (called z), r, h̃
        r, u, candidate = np.split(weight.numpy(), 3, axis=-1)
        return np.concatenate([u, r, candidate], axis=-1)

    W, U, b = (in_order_of_keras(weight) for weight in (cell.W, cell.U, cell.b))
    layer.set_weights([W, U, np.stack([b, np.zeros_like(b)])])
    compare_with_keras(cell, layer, s, mask)


def test_lstm_equals_keras():
    cell, (s, mask) = made(LSTMCell), masked_like_keras()
    layer = keras.layers.LSTM(UNITS, return_sequences=True, return_state=True)
    layer.build((BATCH, TIME, INPUT))

    def in_order_of_keras(weight, forget=0.0):  # ours: i, f, o, g; Keras: i, f, g, o, and its b_f begins at 1
        i, f, o, g = np.split(weight.numpy(), 4, axis=-1)
        return np.concatenate([i, f + forget, g, o], axis=-1)

    layer.set_weights([in_order_of_keras(cell.W), in_order_of_keras(cell.U), in_order_of_keras(cell.b, 1.0)])
    compare_with_keras(cell, layer, s, mask)


@pytest.mark.parametrize("options", [{}, {"layer_normalization": True}])
@pytest.mark.parametrize("kind", CELLS)
def test_gradients_are_the_slopes_of_finite_differences(kind, options):
    cell, (s, mask) = made(CELLS[kind], **options), masked_like_keras()

    def loss():
        h, last = whole_sequence(cell, s, mask)
        return sum(tf.reduce_sum(tf.sin(x + 0.5)) for x in (h, *last))

    with tf.GradientTape() as tape:
        value = loss()
    gradients = tape.gradient(value, cell.trainable_variables)
    for weight, gradient in zip(cell.trainable_variables, gradients, strict=True):
        kept, direction = weight.numpy(), 1e-6 * RANDOM.normal(size=weight.shape)
        weight.assign(kept + direction)
        above = loss()
        weight.assign(kept - direction)
        below = loss()
        weight.assign(kept)
        np.testing.assert_allclose((above - below) / 2, np.sum(gradient * direction), rtol=1e-4, err_msg=weight.path)


@pytest.mark.parametrize("kind", CELLS)
def test_u_starts_as_orthogonal_blocks_that_differ(kind):
    cell = CELLS[kind](UNITS)
    cell.build((None, INPUT))
    blocks = np.split(cell.U.numpy(), cell.gates, axis=1)
    for block in blocks:
        np.testing.assert_allclose(block.T @ block, np.eye(UNITS), atol=1e-5)
    assert not np.allclose(blocks[0], blocks[1])


@pytest.mark.parametrize("units", [0, -1, 2.5, None])
def test_units_are_a_whole_number_from_1(units):
    for cell in (GRUCell, LSTMCell):
        with pytest.raises(ValueError, match=f"units={units}: must be a whole number from 1"):
            cell(units)
    assert GRUCell(np.int64(3)).units == 3
