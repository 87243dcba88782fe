"""The TreeLSTM's equations, by hand; its written-out gradient against TensorFlow's."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.invariants import invariants_for_one_step
from tfnmt.layers.trees.tree_lstm import TreeLSTM, _gated


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_one_unit_by_hand():
    layer = TreeLSTM(1, tracker_units=1)
    layer.build()
    layer.W.assign([[1, 2, 3, 4, 5], [-1, 0, 1, 2, 3], [0, 1, 0, 1, 0]])
    layer.b.assign([0.5, 0, 0, 0, -0.5])
    invariants = invariants_for_one_step(layer.loop_weights(), layer.loop_constants())
    h, c = layer.step(tf.constant([[[0.1], [0.2]]]), tf.constant([[[3.0], [5.0]]]), invariants, tf.constant([[2.0]]))
    # g, i, f_l, f_r, o before their activation: 0.1 · row 1 + 0.2 · row 2 + 2 · row 3 + b
    g, i, f_l, f_r, o = 0.1 - 0.2 + 0.5, 0.2 + 2, 0.3 + 0.2, 0.4 + 0.4 + 2, 0.5 + 0.6 - 0.5
    expected = np.tanh(g) * sigmoid(i) + 3 * sigmoid(f_l) + 5 * sigmoid(f_r)
    np.testing.assert_allclose(c, [[expected]], rtol=1e-6)
    np.testing.assert_allclose(h, [[sigmoid(o) * np.tanh(expected)]], rtol=1e-6)


def test_at_first_half_of_each_childs_memory_is_forgotten():
    c = tf.constant([[[3.0, -1.0], [5.0, 2.0]]])
    np.testing.assert_allclose(TreeLSTM(2)((tf.zeros([1, 2, 2]), c))[1], [[4, 0.5]], rtol=1e-6)


def test_without_the_tracking_that_it_depends_on():
    h = tf.zeros([2, 2, 4])
    with pytest.raises(ValueError, match="tracking is missing: with tracker_units=3 the parents depend on it"):
        TreeLSTM(4, 3)((h, h))


def test_the_gradient_is_that_of_the_equations():
    random = np.random.default_rng(1)
    a, children_c, weight = (tf.constant(random.normal(size=size)) for size in ([4, 15], [4, 2, 3], [2, 4, 3]))

    def plain(a, children_c):
        g, i, f_l, f_r, o = tf.split(a, 5, axis=1)
        c = tf.tanh(g) * tf.sigmoid(i)
        c += tf.sigmoid(f_l) * children_c[:, 0] + tf.sigmoid(f_r) * children_c[:, 1]
        return tf.sigmoid(o) * tf.tanh(c), c

    def run(function):
        with tf.GradientTape() as tape:
            tape.watch([a, children_c])
            h, c = function(a, children_c)
            loss = tf.reduce_sum(h * weight[0] + c * weight[1])
        return h, c, tape.gradient(loss, [a, children_c])

    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-10), run(_gated), run(plain))


def test_without_a_tracker_there_is_no_weight_for_it():
    layer = TreeLSTM(2)
    layer.build()
    assert [tuple(variable.shape) for variable in layer.trainable_variables] == [(4, 10), (10,)]
