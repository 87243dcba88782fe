"""Optimizers on three more surfaces of the album that Cho's post links beside its Figure 10 (A. Radford, 2014).

A long valley is steep across and nearly flat along. Beale's function is so steep at its corners that one gradient
throws a point far away. On the noisy moons each step sees the gradient of a few points only.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from tfnmt.inspection.figures import new_figure
from tfnmt_programs.figures.saddle import STYLES, descend, optimizers

STEPS = 300
POINTS, MINIBATCH, NOISE = 400, 4, 0.25


@dataclass(frozen=True)
class Surface:
    """What is descended, from where, and how fast."""

    name: str
    height: Callable
    """(x, y) → height, of numbers, arrays or tensors that are broadcast."""
    start: tuple[float, float]
    minimum: tuple[float, float]
    limits: tuple[float, float, float, float]
    """Of the picture: x from, to; y from, to."""
    rate: float
    """The learning rate of SGD, with momentum or not."""
    adaptive_rate: float
    """That of Adagrad, Adam and RMSprop."""
    noisy: Callable | None = None
    """(x, y, step) → the height that the step sees; None: it sees `height`."""


def long_valley(x: Any, y: Any) -> Any:
    """(x² + y²/100) / 2: a hundred times as steep across as along."""
    return (x * x + y * y / 100) / 2


def beale(x: Any, y: Any) -> Any:
    """Beale's function: (1.5 − x + xy)² + (2.25 − x + xy²)² + (2.625 − x + xy³)²; it is 0 at (3, 0.5)."""
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


def moons(count: int = POINTS, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two interleaved half circles with noise: float32 [count, 2], and −1 or 1 for each, float32 [count]."""
    random = np.random.default_rng(seed)
    angle, label = np.pi * random.random(count), np.where(np.arange(count) % 2, 1.0, -1.0)
    x, y = np.cos(angle), np.sin(angle) - 0.25
    points = np.stack([np.where(label > 0, x + 0.5, x - 0.5), np.where(label > 0, -y, y)], axis=1)
    return (points + NOISE * random.normal(size=points.shape)).astype(np.float32), label.astype(np.float32)


def _logistic_losses(x, y, points, labels):
    """−log σ(label · (x p₁ + y p₂)) of each point, on a last axis of its own."""
    margins = labels * (x[..., None] * points[:, 0] + y[..., None] * points[:, 1])
    return tf.math.softplus(-margins)


def _moon_surface():
    points, labels = moons()

    def height(x, y):
        x, y = np.asarray(x, np.float32), np.asarray(y, np.float32)
        return tf.reduce_mean(_logistic_losses(x, y, points, labels), axis=-1).numpy()

    def noisy(x, y, step):
        drawn = tf.random.stateless_uniform([MINIBATCH], [1, step], 0, POINTS, tf.int32)
        return tf.reduce_mean(_logistic_losses(x, y, tf.gather(points, drawn), tf.gather(labels, drawn)))

    grid = np.meshgrid(np.linspace(-2, 6, 161), np.linspace(-8, 2, 201))
    lowest = np.argmin(height(*grid))
    minimum = tuple(float(axis.flat[lowest]) for axis in grid)
    return Surface("noisy moons", height, (-1.5, 1.5), minimum, (-2, 6, -8, 2), 0.1, 0.1, noisy)


@functools.cache
def surfaces() -> tuple[Surface, ...]:
    """The three."""
    return (
        Surface("long valley", long_valley, (1.5, -9.0), (0.0, 0.0), (-2, 2, -10, 2), 0.05, 0.1),
        Surface("Beale's function", beale, (1.0, 1.5), (3.0, 0.5), (0, 4, -0.6, 1.7), 0.003, 0.03),
        _moon_surface(),
    )


def paths_on(surface: Surface, steps: int = STEPS) -> dict[str, np.ndarray]:
    """The path of each optimizer, float [steps + 1, 2], by name."""
    loss_at = surface.noisy or (lambda x, y, step: surface.height(x, y))
    return {
        name: descend(optimizer, steps, surface.start, loss_at)
        for name, optimizer in optimizers(surface.rate, surface.adaptive_rate).items()
    }


def draw_surfaces(steps: int = STEPS) -> tuple[Figure, dict[str, dict[str, float]]]:
    """The picture, and {surface: {optimizer: how far above the minimum it ends}}."""
    figure, rest = new_figure(12, 7), {}
    rows = figure.subplots(2, 3, height_ratios=[1.3, 1])
    for surface, above, below in zip(surfaces(), *rows, strict=True):
        found, lowest = paths_on(surface, steps), float(np.min(surface.height(*map(np.float64, surface.minimum))))
        left, right, low, high = surface.limits
        x, y = np.meshgrid(np.linspace(left, right, 121), np.linspace(low, high, 121))
        levels = np.log1p(surface.height(x, y) - lowest)
        above.contour(x, y, levels, 14, cmap="cividis", linewidths=0.8)
        above.plot(*surface.minimum, "x", color="black", markersize=10)
        rest[surface.name] = {}
        for name, path in found.items():
            color, marker = STYLES[name]
            options = {"color": color, "marker": marker, "markersize": 4, "label": name}
            above.plot(*path.T, **options, markevery=30, linewidth=1.5)
            left_over = np.maximum(surface.height(*path.T.astype(np.float64)) - lowest, 1e-7)
            below.plot(left_over, **options, markevery=0.12, linewidth=1.5)
            rest[surface.name][name] = float(left_over[-1])
        above.set(xlim=(left, right), ylim=(low, high), title=surface.name, xlabel="x", ylabel="y")
        below.set(yscale="log", xlabel="steps", ylabel="height above the minimum, or 10⁻⁷")
        below.grid(alpha=0.3)
    figure.legend(*rows[1][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(STYLES))
    return figure, rest
