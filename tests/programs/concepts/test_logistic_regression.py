import numpy as np
import pytest

from tfnmt_programs.concepts.logistic_regression import fit, loss, predict, sigmoid, softmax


def test_sigmoid_at_known_points():
    assert sigmoid(np.array([0.0, np.log(3), -np.log(3)])) == pytest.approx([0.5, 0.75, 0.25])
    assert sigmoid(np.array([-1e4, 1e4])).tolist() == [0, 1]  # no overflow


def test_softmax_of_two_classes_is_the_sigmoid():
    x = np.linspace(-5, 5, 11)
    np.testing.assert_allclose(softmax(np.stack([x, 0 * x], axis=-1))[:, 0], sigmoid(x))
    assert softmax(np.array([[1e4, 0.0, -1e4]])).tolist() == [[1, 0, 0]]


def test_a_step_goes_down_the_gradient_of_the_loss():
    random = np.random.default_rng(1)
    x, y = random.normal(size=(9, 2)), random.integers(2, size=9)
    w, b = fit(x, y, steps=1, learning_rate=1.0)  # from 0: the gradient itself, turned round
    for i in range(2):
        step = np.zeros(2)
        step[i] = 1e-5
        slope = (loss(x, y, step, 0.0) - loss(x, y, -step, 0.0)) / 2e-5
        assert w[i] == pytest.approx(-slope, abs=1e-8)
    assert b == pytest.approx(-(loss(x, y, np.zeros(2), 1e-5) - loss(x, y, np.zeros(2), -1e-5)) / 2e-5, abs=1e-8)


def test_points_that_a_line_parts_are_learned():
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [1.0, 3.0]])
    y = np.array([0, 0, 1, 1])
    assert ((predict(x, *fit(x, y)) > 0.5) == y).all()
