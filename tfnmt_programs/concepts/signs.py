"""Drawn traffic signs: a small task to learn on, made here from a seed."""

from collections.abc import Sequence

import numpy as np

SIGNS = ("stop", "yield", "warning", "no entry", "no vehicles", "priority road")
SIZE = 32


def draw_signs(labels: Sequence[int], seed: int, noise: float = 0.25) -> np.ndarray:
    """Grey pictures of signs, each at its own place, in its own size, tilt, light and background.

    Args:
        labels: indices into `SIGNS`, [examples].
        seed: all that is random comes from it.
        noise: standard deviation of what is added to each pixel.

    Returns:
        float32 [examples, 32, 32, 1], about 0 (black) to 1 (white).
    """
    random = np.random.default_rng(seed)
    pictures = [_draw(SIGNS[label], random) for label in labels]
    pictures = np.stack(pictures) if pictures else np.zeros([0, SIZE, SIZE])
    return (pictures + random.normal(0, noise, pictures.shape)).astype(np.float32)[..., np.newaxis]


def some_signs(count: int, seed: int, noise: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
    """`count` pictures of signs drawn by lot, and their labels int [count]."""
    labels = np.random.default_rng([seed, 1]).integers(len(SIGNS), size=count)
    return draw_signs(labels, seed, noise), labels


def _draw(sign, random):
    row, column = np.mgrid[:SIZE, :SIZE] / SIZE * 2 - 1  # from −1 to 1
    x0, y0 = random.uniform(-0.2, 0.2, 2)
    radius, tilt = random.uniform(0.55, 0.8), random.uniform(-0.25, 0.25)
    x, y = (column - x0) / radius, (row - y0) / radius
    x, y = x * np.cos(tilt) - y * np.sin(tilt), x * np.sin(tilt) + y * np.cos(tilt)

    slope = random.uniform(-0.3, 0.3, 2)
    picture = random.uniform(0.3, 0.6) + slope[0] * row + slope[1] * column
    dark, light = random.uniform(0.0, 0.2), random.uniform(0.8, 1.0)
    for inside, shade in _parts(sign, x, y):
        sharp = np.clip(inside * radius * SIZE / 2 + 0.5, 0, 1)  # 1 inside, 0 outside, in between on the border
        picture = picture * (1 - sharp) + (light if shade else dark) * sharp
    return picture


def _parts(sign, x, y):
    """What a sign is painted of, in order: (distance from the border, positive inside; 0 for dark and 1 for light)."""
    circle, bar = 1 - np.hypot(x, y), np.minimum(0.2 - abs(y), 0.7 - abs(x))
    letters = np.minimum(0.3 - abs(y), np.maximum(0.12 - abs(x), 0.12 - abs(abs(x) - 0.48)))  # from afar
    upright = np.minimum(0.12 - abs(x), 0.32 - abs(y + 0.1))
    return {
        "stop": [(_polygon(x, y, 8, np.pi / 8), 0), (letters, 1)],
        "yield": [(_polygon(x, y, 3, np.pi / 2), 0), (_polygon(x, y, 3, np.pi / 2) - 0.18, 1)],
        "warning": [(_polygon(x, y, 3, -np.pi / 2), 0), (_polygon(x, y, 3, -np.pi / 2) - 0.15, 1), (upright, 0)],
        "no entry": [(circle, 0), (bar, 1)],
        "no vehicles": [(circle, 0), (circle - 0.25, 1)],
        "priority road": [(_polygon(x, y, 4, 0), 1), (_polygon(x, y, 4, 0) - 0.15, 0)],
    }[sign]


def _polygon(x, y, corners, first):
    """The distance from the border of a regular polygon with corners at distance 1, the first at the angle `first`."""
    apothem = np.cos(np.pi / corners)
    middles = first + np.pi / corners + 2 * np.pi * np.arange(corners) / corners
    return np.min([apothem - x * np.cos(a) - y * np.sin(a) for a in middles], axis=0)
