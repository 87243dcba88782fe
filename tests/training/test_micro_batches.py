"""Batches in parts: one loss, of the whole batch."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.training.micro_batches import SideBySide, loss_of_parts


class Line(SideBySide, keras.Model):
    """y = a x, by the squared distance; notes how many examples were in each part."""

    def __init__(self):
        super().__init__()
        self.a = self.add_weight(shape=(), initializer="zeros")
        self.built = True
        self.seen = []

    def call(self, x, training=False):
        self.seen.append(x.shape[0])
        return self.a * x

    def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
        return loss_of_parts([self.loss_terms(x, y, y_pred)])

    def loss_terms(self, x, y, y_pred):
        return [(tf.reduce_mean((y - y_pred) ** 2), tf.size(y)), (0.5 * tf.reduce_mean(x), tf.constant(1))]


def trained(parts, x):
    model = Line()
    model.parts = parts
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    figures = model.train_on_batch(x, 3 * x, return_dict=True)
    return float(model.a), figures["loss"], model.seen


def test_the_loss_is_the_mean_over_all_parts_of_each_term():
    parts = [[(2.0, 3), (1.0, 1)], [(6.0, 1), (4.0, 2)]]
    np.testing.assert_allclose(loss_of_parts(parts), (2 * 3 + 6 * 1) / 4 + (1 * 1 + 4 * 2) / 3)
    np.testing.assert_allclose(loss_of_parts([[(0.0, 0)], [(0.0, 0)]]), 0)


@pytest.mark.parametrize(("parts", "seen"), [(1, [5]), (2, [3, 2]), (3, [2, 2, 1])])
def test_a_step_in_parts_is_the_step_of_the_batch(parts, seen):
    x = np.array([1.0, 2, 3, 4, 7], np.float32)
    a, loss, sizes = trained(parts, x)
    assert sizes == seen
    np.testing.assert_allclose(a, 0.1 * 2 * 3 * np.mean(x**2), rtol=1e-6)  # −0.1 d/da mean (3x − ax)² at a = 0
    if parts == 1:
        np.testing.assert_allclose(loss, np.mean((3 * x) ** 2) + 0.5 * np.mean(x), rtol=1e-6)


def test_no_part_is_empty():
    a, _, sizes = trained(2, np.array([2.0], np.float32))
    assert sizes == [1, 1]
    np.testing.assert_allclose(a, 0.1 * 2 * 3 * 4, rtol=1e-6)
