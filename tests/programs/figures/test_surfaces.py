"""More surfaces for optimizers: their minima, gradient descent by hand, and what the picture shows."""

import numpy as np
import pytest

from tfnmt_programs.figures import surfaces as module
from tfnmt_programs.figures.saddle import descend, optimizers
from tfnmt_programs.figures.surfaces import beale, draw_surfaces, long_valley, moons, surfaces


def test_the_minima_are_where_they_are_said_to_be():
    assert beale(3.0, 0.5) == 0 and long_valley(0.0, 0.0) == 0
    for surface in surfaces():
        x, y = (np.float32(number) for number in surface.minimum)
        around = [surface.height(x + dx, y + dy) for dx, dy in ((0.1, 0), (-0.1, 0), (0, 0.1), (0, -0.1))]
        assert min(around) >= surface.height(x, y)


def test_sgd_in_the_valley_by_hand():
    path = descend(optimizers(0.05, 0.1)["SGD"], 3, (1.0, 10.0), lambda x, y, step: long_valley(x, y))
    np.testing.assert_allclose(path, [(0.95**i, 10 * 0.9995**i) for i in range(4)], rtol=1e-5)


def test_moons_are_two_balanced_classes():
    points, labels = moons(100)
    assert points.shape == (100, 2) and labels.sum() == 0
    np.testing.assert_array_equal(points, moons(100)[0])


def test_the_picture_has_a_path_of_every_optimizer_on_every_surface(monkeypatch):
    chosen = ("SGD", "Adam")
    monkeypatch.setattr(module, "optimizers", lambda *rates: {name: optimizers(*rates)[name] for name in chosen})
    figure, rest = draw_surfaces(steps=3)
    assert len(rest) == 3 and all(set(found) == set(chosen) for found in rest.values())
    assert len(figure.axes) == 6
    assert rest["long valley"]["SGD"] == pytest.approx(long_valley(1.5 * 0.95**3, 9 * 0.9995**3), rel=1e-4)
