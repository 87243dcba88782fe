"""Feature engineering by hand: how many pixels are greenish, how many bluish, and where such features fail.

The post's example: whether a land or a water animal is in a picture can be told from the colours around it. The next
data set has land animals only, and the same features tell nothing.
"""

import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, GREEN, new_figure
from tfnmt_programs.concepts.logistic_regression import fit, predict

SIZE = 24
GRASS, WATER, SAND, GREY = (0.35, 0.6, 0.25), (0.2, 0.4, 0.7), (0.75, 0.65, 0.45), (0.5, 0.5, 0.5)


def draw_animals(in_water: np.ndarray, long_legs: np.ndarray, seed: int) -> np.ndarray:
    """Pictures of a grey animal on grass or sand, or in water: float [pictures, 24, 24, 3], from 0 to 1.

    Args:
        in_water, long_legs: bool [pictures].
        seed: of place, ground and noise.
    """
    random = np.random.default_rng(seed)
    row, column = np.mgrid[:SIZE, :SIZE]
    pictures = []
    for wet, legs in zip(in_water, long_legs, strict=True):
        ground = WATER if wet else (GRASS, GRASS, SAND)[random.integers(3)]
        picture = np.broadcast_to(ground, (SIZE, SIZE, 3)).copy()
        y, x, size = random.uniform(8, 13), random.uniform(8, 16), random.uniform(3, 6)
        body = ((row - y) / (0.6 * size)) ** 2 + ((column - x) / size) ** 2 < 1
        below = (row > y) & (row < y + (8 if legs else 4)) & (abs(abs(column - x) - 0.6 * size) < 1)
        picture[body | below] = GREY
        pictures.append(picture + random.normal(0, 0.06, picture.shape))
    return np.clip(pictures, 0, 1)


def colour_counts(pictures: np.ndarray) -> np.ndarray:
    """The features: the share of pixels that are more green than red and blue, and more blue than red and green.

    float [pictures, rows, columns, 3] → [pictures, 2].
    """
    strongest = np.argmax(pictures, axis=-1)
    return np.stack([np.mean(strongest == colour, axis=(1, 2)) for colour in (1, 2)], axis=-1)


def regression_accuracy(pictures: np.ndarray, labels: np.ndarray) -> float:
    """Of a logistic regression on both counts, fitted to the first half of the pictures and tested on the second."""
    x, half = colour_counts(pictures), len(pictures) // 2
    x = (x - x[:half].mean(axis=0)) / x[:half].std(axis=0)
    w, b = fit(x[:half], labels[:half])
    return float(np.mean((predict(x[half:], w, b) > 0.5) == labels[half:]))


def show() -> tuple[Figure, str]:
    """Both counts of land and water animals, and of land animals with long and short legs."""
    random = np.random.default_rng(1)
    in_water, long_legs = random.random(400) < 0.5, random.random(400) < 0.5
    mixed = draw_animals(in_water, long_legs, seed=2)
    on_land = draw_animals(np.zeros(400, bool), long_legs, seed=3)

    figure = new_figure(10.5, 3.8)
    samples, *plots = figure.subfigures(1, 3, width_ratios=[1, 1.3, 1.3])
    for axes, picture in zip(samples.subplots(3, 2).ravel(), mixed, strict=False):
        axes.imshow(picture)
        axes.axis("off")
    samples.suptitle("drawn animals", fontsize=10)
    shares = []
    for part, pictures, labels, names, question in (
        (plots[0], mixed, in_water, ("on land", "in water"), "on land or in water?"),
        (plots[1], on_land, long_legs, ("short legs", "long legs"), "land animals only: which legs?"),
    ):
        axes = part.subplots()
        x = colour_counts(pictures)
        shares.append(regression_accuracy(pictures, labels))
        for label, color, marker in ((0, GREEN, "o"), (1, BLUE, "^")):
            axes.scatter(*x[labels == label].T, s=12, color=color, marker=marker, label=names[label], alpha=0.7)
        axes.set(xlabel="share of greenish pixels", ylabel="share of bluish pixels")
        axes.set_title(f"{question}\n{shares[-1]:.0%} right", fontsize=10)
        axes.legend(fontsize=8)
    return figure, (
        f"two counts of colours tell land from water animals: {shares[0]:.1%} right;"
        f" of land animals only, long legs from short: {shares[1]:.1%}"
    )
