"""Optimizers at a saddle point: their first steps by hand, who escapes, and the picture of it."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt_programs.figures.saddle import START, descend, draw_saddle, escape_step, height, optimizers, write_saddle


def test_the_surface_rises_along_x_and_falls_along_y():
    assert height(0.0, 0.0) == 0 and height(1.0, 0.0) == 0.5 and height(0.0, 1.0) == -0.5


def test_at_the_saddle_the_gradient_is_zero():
    point = tf.zeros([2])
    with tf.GradientTape() as tape:
        tape.watch(point)
        loss = height(point[0], point[1])
    np.testing.assert_array_equal(tape.gradient(loss, point), [0, 0])


def test_an_optimizer_that_starts_at_the_saddle_stays():
    path = descend(keras.optimizers.SGD(0.02, momentum=0.9), steps=3, start=(0.0, 0.0))
    np.testing.assert_array_equal(path, np.zeros([4, 2]))


def test_sgd_goes_by_hand():
    path = descend(optimizers(0.02, 0.02)["SGD"], steps=3)
    x, y = START
    expected = [(x * 0.98**i, y * 1.02**i) for i in range(4)]  # x ← x − 0.02 x, y ← y + 0.02 y
    np.testing.assert_allclose(path, expected, rtol=1e-5)


def test_momentum_goes_by_hand():
    path = descend(optimizers(0.02, 0.02)["momentum"], steps=2)
    x, first = START[0], -0.02 * START[0]
    second = 0.9 * first - 0.02 * (x + first)
    assert path[:, 0] == pytest.approx([x, x + first, x + first + second])


def test_nesterov_takes_the_gradient_ahead_by_hand():
    """w ← w + μ v − 0.02 g after v ← μ v − 0.02 g, where the gradient of x²/2 is x."""
    path = descend(optimizers(0.02, 0.02)["Nesterov"], steps=2)
    x, v, expected = START[0], 0.0, [START[0]]
    for _ in range(2):
        v, gradient = 0.9 * v - 0.02 * x, x
        x += 0.9 * v - 0.02 * gradient
        expected.append(x)
    assert path[:, 0] == pytest.approx(expected)


def test_rmsprop_leaves_at_once_and_sgd_waits():
    found = {name: descend(optimizers(0.02, 0.02)[name], steps=40) for name in ("SGD", "RMSprop")}
    assert escape_step(found["SGD"]) is None
    assert 20 < escape_step(found["RMSprop"]) < 40
    figure = draw_saddle(found)
    labels = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert labels[0] == "SGD: y = 0.00 at the end" and labels[1].startswith("RMSprop: y = 1 after ")


def test_the_step_of_escape_is_the_first():
    path = np.array([[0, 0.1], [0, 0.9], [0, -1.2], [0, 3]])
    assert escape_step(path) == 2 and escape_step(path, distance=5) is None


def test_it_is_written_moving_too(tmp_path, monkeypatch):
    monkeypatch.setattr("tfnmt_programs.figures.saddle.optimizers", lambda *rates: {"SGD": keras.optimizers.SGD(0.02)})
    monkeypatch.setattr("tfnmt_programs.figures.saddle.FRAMES", 3)
    assert write_saddle(tmp_path / "a.gif", steps=4) == {"SGD": None}
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF89a")
