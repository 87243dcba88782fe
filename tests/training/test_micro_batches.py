"""Micro-batches: one loss, of the whole batch."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.training.micro_batches import MicroBatchTraining, batch_loss
from tfnmt.training.replicas import Replicas


class Line(MicroBatchTraining, keras.Model):
    """y = a x, by the squared distance; notes how many examples were in each micro-batch."""

    def __init__(self, micro_batches):
        super().__init__()
        self.micro_batches = micro_batches
        self.a = self.add_weight(shape=(), initializer="zeros")
        self.built = True
        self.sizes = []

    def call(self, x, training=False):
        self.sizes.append(x.shape[0])
        return self.a * x

    def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
        return batch_loss([self.loss_terms(x, y, y_pred)])

    def loss_terms(self, x, y, y_pred, training=True):
        examples = tf.size(y)
        squares, halves = tf.reduce_sum((y - y_pred) ** 2), tf.reduce_sum(0.5 * x)
        mean_square, mean_half = (
            tf.math.divide_no_nan(each, tf.cast(examples, tf.float32)) for each in (squares, halves)
        )
        return [(mean_square, examples), (mean_half, examples)]


def trained(micro_batches, x):
    model = Line(micro_batches)
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    figures = model.train_on_batch(x, 3 * x, return_dict=True)
    return float(model.a), figures["loss"], model.sizes


def test_the_loss_is_the_mean_over_all_micro_batches_of_each_term():
    terms = [[(2.0, 3), (1.0, 1)], [(6.0, 1), (4.0, 2)]]
    np.testing.assert_allclose(batch_loss(terms), (2 * 3 + 6 * 1) / 4 + (1 * 1 + 4 * 2) / 3)
    np.testing.assert_allclose(batch_loss([[(0.0, 0)], [(0.0, 0)]]), 0)


@pytest.mark.parametrize(("micro_batches", "expected_sizes"), [(1, [5]), (2, [3, 2]), (3, [2, 2, 1])])
def test_a_step_in_micro_batches_is_the_step_of_the_batch(micro_batches, expected_sizes):
    x = np.array([1.0, 2, 3, 4, 7], np.float32)
    a, loss, sizes = trained(micro_batches, x)
    assert sizes == expected_sizes
    np.testing.assert_allclose(a, 0.1 * 2 * 3 * np.mean(x**2), rtol=1e-6)  # −0.1 d/da mean (3x − ax)² at a = 0
    np.testing.assert_allclose(loss, np.mean((3 * x) ** 2) + 0.5 * np.mean(x), rtol=1e-6)


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_the_loss_of_an_epoch_is_the_mean_over_examples(micro_batches):
    """Not over batches, of which the last has one example."""
    model, x = Line(micro_batches), np.array([[1.0], [2], [3], [4], [9]], np.float32)
    model.compile(keras.optimizers.SGD(0.0), run_eagerly=True)
    fitted = model.fit(x, 3 * x, batch_size=4, epochs=1, shuffle=False, verbose=0)
    np.testing.assert_allclose(fitted.history["loss"], [np.mean((3 * x) ** 2) + 0.5 * np.mean(x)], rtol=1e-6)


def test_no_micro_batch_is_empty():
    a, _, sizes = trained(2, np.array([2.0], np.float32))
    assert sizes == [1, 1]
    np.testing.assert_allclose(a, 0.1 * 2 * 3 * 4, rtol=1e-6)


@pytest.mark.parametrize(("micro_batches", "expected_sizes"), [(1, [5, 1]), (2, [3, 2, 1, 0])])
def test_evaluation_in_micro_batches_has_the_figures_of_the_batches(micro_batches, expected_sizes):
    """Of the last batch, which has one example, one micro-batch is empty: no example counts twice."""
    x = np.array([[1.0], [2], [3], [4], [7], [5]], np.float32)
    model = Line(micro_batches)
    model.compile(keras.optimizers.SGD(0.1), metrics=[keras.metrics.MeanSquaredError("squares")], run_eagerly=True)
    figures = model.evaluate(x, 3 * x, batch_size=5, verbose=0, return_dict=True)
    assert model.sizes == expected_sizes
    np.testing.assert_allclose(figures["squares"], np.mean((3 * x) ** 2), rtol=1e-6)
    np.testing.assert_allclose(figures["loss"], np.mean((3 * x) ** 2) + 0.5 * np.mean(x), rtol=1e-6)


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_weights_of_examples_are_refused(micro_batches):
    model, x = Line(micro_batches), np.array([1.0, 2], np.float32)
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    for step in (
        lambda: model.fit(x, x, sample_weight=np.ones(2, np.float32), verbose=0),
        lambda: model.evaluate(x, x, sample_weight=np.ones(2, np.float32), verbose=0),
        lambda: model.fit(x, np.array([0, 1]), class_weight={0: 1.0, 1: 2.0}, verbose=0),
    ):
        with pytest.raises(ValueError, match="sample_weight and class_weight have no effect here"):
            step()


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_regularizers_of_weights_count(micro_batches):
    """Once in a batch: the slope of a² at a = 2 is 4, and that of the mean of (2x − ax)² there is 0."""

    class Regularized(Line):
        def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
            return self.with_penalties(super().compute_loss(x, y, y_pred))

    model, x = Regularized(micro_batches), np.array([1.0, 2, 3], np.float32)
    model.a.assign(2.0)
    model.a.regularizer = keras.regularizers.L2(1.0)
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    for figures in (model.test_on_batch(x, 2 * x, return_dict=True), model.train_on_batch(x, 2 * x, return_dict=True)):
        np.testing.assert_allclose(figures["loss"], 0.5 * np.mean(x) + 4, rtol=1e-6)
    np.testing.assert_allclose(model.a, 2 - 0.1 * 4, rtol=1e-6)


class OneOfTwo(Replicas):
    """What the other one has is not added."""

    number = 2


def test_replicas_share_what_the_regularizers_add():
    """Each adds a half of a² at a = 2."""
    model = Line(1)
    model.a.assign(2.0)
    model.a.regularizer = keras.regularizers.L2(1.0)
    np.testing.assert_allclose(model.with_penalties(tf.constant(5.0), OneOfTwo()), 5 + 4 / 2)


@pytest.mark.parametrize("run_eagerly", [True, False])
def test_a_slice_without_weight_is_in_no_figure(run_eagerly):
    """The second one: it has examples of another replica's, which count there."""
    model, x = Line(1), np.array([[1.0], [2], [3], [4]], np.float32)
    model.replicas = OneOfTwo()
    metrics = [keras.metrics.MeanSquaredError("squares")]
    model.compile(keras.optimizers.SGD(0.0), metrics=metrics, run_eagerly=run_eagerly, jit_compile=False)
    model.compute_metrics(None, tf.zeros([1, 1]), tf.zeros([1, 1]))  # which makes their variables
    slices = tf.data.Dataset.from_tensor_slices((x, 3 * x, [1.0, 1, 0, 0])).batch(2)
    slices = slices.map(lambda x, y, weights: (x, y, weights[0]))
    figures = model.fit(slices, epochs=2, shuffle=False, verbose=0).history
    np.testing.assert_allclose(figures["squares"], [np.mean((3 * x[:2]) ** 2)] * 2, rtol=1e-6)
    np.testing.assert_allclose(figures["loss"], [np.mean((3 * x[:2]) ** 2) + 0.5 * np.mean(x[:2])] * 2, rtol=1e-6)


class Doubled(Replicas):
    """Two in two processes, which have the same examples."""

    number = processes = 2

    def sum(self, tensors):
        return [2 * tensor for tensor in tensors]

    sum_of_processes = sum


@pytest.mark.parametrize("run_eagerly", [True, False])
def test_the_metrics_of_several_processes_are_of_the_examples_of_all(run_eagerly):
    model, x = Line(1), np.array([[1.0], [2], [3], [4], [5]], np.float32)
    model.replicas = Doubled()
    squares = keras.metrics.MeanSquaredError("squares")
    model.compile(keras.optimizers.SGD(0.0), metrics=[squares], run_eagerly=run_eagerly, jit_compile=False)
    model.compute_metrics(None, tf.zeros([1, 1]), tf.zeros([1, 1]))  # which makes their variables
    slices = tf.data.Dataset.from_tensor_slices((x, 3 * x)).batch(2)
    model.fit(slices.map(lambda x, y: (x, y, tf.constant(1.0))), shuffle=False, verbose=0)
    assert float(squares.count) == 2 * 5 and float(squares.total) == 2 * np.sum((3 * x) ** 2)


def test_a_loss_that_is_scaled_against_underflow_makes_the_same_step():
    a = []
    for optimizer in (keras.optimizers.SGD(0.1), keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))):
        model, x = Line(2), np.array([1.0, 2, 3], np.float32)
        model.compile(optimizer, run_eagerly=True)
        model.train_on_batch(x, 3 * x)
        a.append(float(model.a))
    np.testing.assert_allclose(*a, rtol=1e-6)


class Counter(Line):
    """Predicts how often it was called."""

    def __init__(self, micro_batches):
        super().__init__(micro_batches)
        self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x, training=False):
        self.calls.assign_add(1.0)
        return self.a * x + self.calls


@pytest.mark.parametrize("run_eagerly", [True, False])
def test_a_micro_batch_begins_with_the_state_that_the_one_before_left(run_eagerly):
    model, zeros = Counter(2), np.zeros(4, np.float32)
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=run_eagerly)
    loss = model.train_on_batch(zeros, zeros, return_dict=True)["loss"]
    assert (float(loss), float(model.calls)) == ((1**2 + 2**2) / 2, 2)
    model.train_on_batch(zeros, zeros)
    assert float(model.calls) == 4
