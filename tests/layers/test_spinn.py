"""Every tree encoder is its define-by-run twin: the same outputs, the same gradients, whatever the trees' shapes."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.layers.tree_batches import Vectors, shapes_of_trees
from tfnmt.define_by_run import recursive
from tfnmt.layers.spinn import LevelEncoder

UNITS = 3
BATCHES = shapes_of_trees()


@pytest.fixture(autouse=True)
def doubles():
    """All in float64, so that tolerances can be as tight as the arithmetic."""
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_dtype_policy("float32")


def level_encoder(vector_size=2 * UNITS):
    keras.utils.set_random_seed(4)
    encoder = LevelEncoder(Vectors(vector_size), UNITS)
    encoder.build()
    encoder.compose.b.assign(np.random.default_rng(5).normal(size=[5 * UNITS]))
    return encoder


def variables(encoder):
    return [encoder.embedding.table, *(v.value for v in encoder.trainable_variables)]


def results_and_gradients(encoder, names, call, batch):
    """The results of those names, and the gradients of a sum of all of them, each place with a weight of its own."""
    with tf.GradientTape() as tape:
        results = call(batch)
        results = {name: results[name] for name in names}
        flat = tf.concat([tf.reshape(results[name], [-1]) for name in names], axis=0)
        loss = tf.reduce_sum(flat * tf.sin(1.0 + tf.range(tf.size(flat), dtype=flat.dtype)))
    gradients = tape.gradient(loss, variables(encoder), unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return results, [tf.convert_to_tensor(gradient) for gradient in gradients]


def in_a_graph(function, names=("words", "transitions", "left", "right", "height")):
    """One trace for all shapes."""
    signature = {name: tf.TensorSpec([None, None], tf.int32) for name in names}
    return tf.function(function, input_signature=[signature], autograph=False)


def check_same(found, expected):
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12), found, expected)


@pytest.mark.parametrize("vector_size", [2 * UNITS, 4])
def test_level_by_level_is_plain_recursion(vector_size):
    encoder = level_encoder(vector_size)
    run = in_a_graph(lambda batch: results_and_gradients(encoder, ["root"], encoder, batch))
    for batch in BATCHES.values():
        twin = results_and_gradients(encoder, ["root"], lambda batch: recursive.encode(encoder, batch), batch)
        check_same(run(batch), twin)
    assert run.experimental_get_tracing_count() == 1


def test_eager_execution_gives_the_same():
    encoder = level_encoder()
    run = lambda batch: results_and_gradients(encoder, ["root", "nodes"], encoder, batch)  # noqa: E731
    check_same(run(BATCHES["mixed"]), in_a_graph(run)(BATCHES["mixed"]))
