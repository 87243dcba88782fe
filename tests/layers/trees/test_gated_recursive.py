"""The gated recursive cell's equations, by hand, and both tree encoders with it beside their twins."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.layers.trees.test_spinn import UNITS, check_same, in_a_graph, results_and_gradients
from tests.layers.trees.tree_batches import Vectors, shapes_of_trees, with_random_weights
from tfnmt.define_by_run import recursive, spinn
from tfnmt.layers.trees.encoder import TreeLSTMEncoder
from tfnmt.layers.trees.gated_recursive import GatedRecursiveCell
from tfnmt.layers.trees.spinn import SPINN

BATCHES = shapes_of_trees()
pytestmark = pytest.mark.usefixtures("doubles")


def test_two_units_by_hand():
    cell = with_random_weights(GatedRecursiveCell(2, tracker_units=1))
    h_l, h_r, tracking = np.array([0.1, -0.2]), np.array([0.3, 0.4]), np.array([0.7])
    W_1, b_1, W_2, b_2, gain, bias = (variable.numpy() for variable in cell.weights)
    outputs = np.maximum(np.concatenate([h_l, h_r, tracking]) @ W_1 + b_1, 0) @ W_2 + b_2
    g_l, g_r, g_u = (1 / (1 + np.exp(-gate)) for gate in (outputs[:2], outputs[2:4], outputs[4:6]))
    summed = g_l * h_l + g_r * h_r + g_u * outputs[6:]
    expected = (summed - summed.mean()) / np.sqrt(summed.var() + 1e-5) * gain + bias
    h, c = cell((tf.constant([[h_l, h_r]]), tf.zeros([1, 2, 0], tf.float64)), tf.constant([tracking]))
    np.testing.assert_allclose(h, [expected], rtol=1e-10)
    assert c.shape == (1, 0)


def test_at_first_parents_have_mean_0_and_variance_1():
    children = tf.constant(np.random.default_rng(1).normal(size=[5, 2, 50]))
    h, _ = GatedRecursiveCell(50)((children, tf.zeros([5, 2, 0], tf.float64)))
    np.testing.assert_allclose(tf.nn.moments(h, axes=1), [[0] * 5, [1] * 5], atol=1e-3)


@pytest.mark.parametrize("vector_size", [UNITS, 4])
def test_along_given_trees(vector_size):
    encoder = with_random_weights(TreeLSTMEncoder(Vectors(vector_size), UNITS, composition="grc"))
    run = in_a_graph(lambda batch: results_and_gradients(encoder, ["root"], encoder, batch))
    for batch in BATCHES.values():
        twin = results_and_gradients(encoder, ["root"], lambda batch: recursive.encode(encoder, batch), batch)
        check_same(run(batch), twin)


@pytest.mark.parametrize("parse", ["given", "sampled"])
def test_with_a_tracker(parse):
    encoder = with_random_weights(SPINN(Vectors(UNITS), UNITS, 2, parse, composition="grc"))
    options = {"training": True} | ({"seed": tf.constant([1, 2])} if parse == "sampled" else {})
    names = ["root", "nodes"]
    run = in_a_graph(
        lambda batch: results_and_gradients(encoder, names, lambda batch: encoder(batch, **options), batch)
    )
    for batch in BATCHES.values():
        twin = results_and_gradients(encoder, names, lambda batch: spinn.encode(encoder, batch, **options), batch)
        check_same(run(batch), twin)


def test_a_parser_composes_as_its_twin():
    encoder = with_random_weights(SPINN(Vectors(UNITS), UNITS, 2, "predicted", composition="grc"))
    run = in_a_graph(encoder, names=["words"])
    for batch in BATCHES.values():
        words = {"words": batch["words"]}
        found, expected = run(words), spinn.encode(encoder, words)
        np.testing.assert_array_equal(found["transitions"], expected["transitions"])
        np.testing.assert_allclose(found["root"], expected["root"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("composition", ["grc", "tree-lstm"])
@pytest.mark.parametrize("parse", [None, "predicted"])
def test_dropout_is_of_the_compositions_matrices_in_training_alone(parse, composition):
    keras.utils.set_random_seed(1)

    def encoder(rate):
        layer = TreeLSTMEncoder if parse is None else SPINN
        options = () if parse is None else (2, parse)
        return with_random_weights(
            layer(Vectors(UNITS), UNITS, *options, composition=composition, composition_dropout=rate)
        )

    batch = BATCHES["mixed"]
    dropped, plain = encoder(0.5), encoder(0.0)
    np.testing.assert_array_equal(dropped(batch)["root"], plain(batch)["root"])
    first, second = (dropped(batch, training=True)["root"] for _ in range(2))
    assert np.abs(first - second).max() > 0.01
    # The same as without dropout but with the matrices that one mask leaves, twice as large where rate=0.5.
    masked = encoder(0.5)
    masked.composition_dropout = lambda weight, training: tf.where(weight > 0, 2 * weight, 0)
    expected = encoder(0.0)
    for variable in expected.compose.trainable_variables:
        if variable.name in expected.compose.loop_weights():
            variable.assign(tf.where(variable.value > 0, 2 * variable.value, 0))
    for name in ("root", "nodes"):
        found = masked(batch, training=True)[name]
        np.testing.assert_allclose(found, expected(batch, training=True)[name], rtol=1e-9)
