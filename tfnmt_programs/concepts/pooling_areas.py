"""What the size of the pooling area decides: shifts and rotations it forgives, features it keeps, memory it takes.

The larger the area, the fewer numbers are left: the net is slimmer, and at some size too much is thrown away.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, COLORS, GREEN, new_figure
from tfnmt_programs.concepts.convolution import EDGES, convolve
from tfnmt_programs.concepts.learned_features import HAND_MADE, regression_accuracy
from tfnmt_programs.concepts.pooling import likeness, pool
from tfnmt_programs.concepts.signs import SIGNS, SIZE, draw_signs, some_signs

SIZES = (1, 2, 3, 5, 6, 10, 15, 30)
"""Sides of pooling areas that 30 × 30 edges are divided into without a rest."""


def rotated(picture: np.ndarray, degrees: float) -> np.ndarray:
    """A picture [rows, columns] turned about its middle, the nearest pixel for each; corners repeat the border."""
    angle, middle = np.deg2rad(degrees), (np.array(picture.shape) - 1) / 2
    row, column = np.indices(picture.shape) - middle[:, None, None]
    source = np.stack([row * np.cos(angle) + column * np.sin(angle), column * np.cos(angle) - row * np.sin(angle)])
    source = np.rint(source + middle[:, None, None]).astype(int)
    source = np.clip(source, 0, np.array(picture.shape)[:, None, None] - 1)
    return picture[tuple(source)]


def edges(picture: np.ndarray) -> np.ndarray:
    """How strong the edges of a sign [32, 32] are: [30, 30]."""
    return np.abs(convolve(picture, EDGES))


def edge_maps(pictures: np.ndarray) -> np.ndarray:
    """Edges of four directions: [examples, 32, 32, 1] → [examples, 30, 30, 4]."""
    kernels = tf.constant(np.stack(HAND_MADE, axis=-1)[:, :, np.newaxis], tf.float32)
    return tf.abs(tf.nn.conv2d(pictures, kernels, 1, "VALID")).numpy()


def pooled(maps: np.ndarray, size: int) -> np.ndarray:
    """The greatest of each area of size × size: [examples, rows, columns, maps] → [examples, features]."""
    return tf.reshape(tf.nn.max_pool2d(maps, size, size, "VALID"), [len(maps), -1]).numpy()


def accuracies(sizes: Sequence[int] = SIZES, examples: int = 1200, epochs: int = 10) -> dict[int, float]:
    """{size: the share of new signs that a logistic regression on the pooled edges gets right}."""
    (x, y), (test_x, test_y) = (some_signs(count, seed) for count, seed in ((examples, 1), (400, 2)))
    x, test_x = edge_maps(x), edge_maps(test_x)
    return {size: regression_accuracy(pooled(x, size), y, pooled(test_x, size), test_y, epochs) for size in sizes}


def show() -> tuple[Figure, str]:
    """Likeness of signs' edges by rotation, and what a classifier makes of ever larger areas."""
    signs = draw_signs(range(len(SIGNS)), seed=1, noise=0.0)[..., 0]
    degrees = range(0, 41, 5)
    figure = new_figure(11, 3.8)
    turned, right, memory = figure.subplots(1, 3)
    for size, color, marker in zip((1, 2, 5, 10), COLORS, "os^D", strict=False):
        values = [
            np.mean([likeness(pool(edges(sign), size), pool(edges(rotated(sign, d)), size)) for sign in signs])
            for d in degrees
        ]
        label = "no pooling" if size == 1 else f"{size} × {size}"
        turned.plot(degrees, values, color=color, marker=marker, markersize=4, label=label)
    turned.set(xlabel="degrees turned", ylabel="correlation with the unturned", title="tolerance to rotation")
    turned.legend(fontsize=8)
    found = accuracies()
    right.plot(SIZES, list(found.values()), "o-", color=GREEN)
    right.set(xlabel="side of the pooling area", ylim=(0, 1.02), title="new signs right, by edges pooled")
    numbers = {size: 4 * ((SIZE - 2) // size) ** 2 for size in SIZES}
    memory.plot(SIZES, [4 * number / 1000 for number in numbers.values()], "s-", color=BLUE)
    memory.set(xlabel="side of the pooling area", yscale="log", title="kilobytes of features a picture")
    for axes in (turned, right, memory):
        axes.grid(alpha=0.3)
    best = max(found, key=found.get)
    return figure, (
        f"of new signs right: {found[1]:.1%} without pooling ({numbers[1]:,} numbers each), {found[best]:.1%} at best,"
        f" {best} × {best} ({numbers[best]}), {found[30]:.1%} with one area of 30 × 30 ({numbers[30]})"
    )
