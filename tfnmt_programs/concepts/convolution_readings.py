"""Convolution read in two more ways: as a weighted moving average, and as the diffusion of milk in coffee."""

import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLACK, BLUE, ORANGE, new_figure
from tfnmt_programs.concepts.convolution import convolve
from tfnmt_programs.concepts.drawing import show_map

MIXING = 0.15
"""The part of a cell's milk that goes to each of its four neighbours in one step."""
DIFFUSION = np.array([[0, MIXING, 0], [MIXING, 1 - 4 * MIXING, MIXING], [0, MIXING, 0]])
"""Its sum is 1: milk moves, and none is lost."""


def bell(width: int) -> np.ndarray:
    """Weights of a moving average over `width` values: greatest in the middle, their sum 1."""
    weights = np.hanning(width + 2)[1:-1]
    return weights / weights.sum()


def moving_average(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_n f[i − n] g[n] of values [length] and weights [width] whose sum is 1: [length − width + 1]."""
    return convolve(values[np.newaxis], weights[np.newaxis])[0]


def diffuse(milk: np.ndarray, steps: int) -> np.ndarray:
    """`steps` convolutions with `DIFFUSION`; nothing comes in at the edges: float [rows, columns] → the same shape."""
    for _ in range(steps):
        milk = convolve(np.pad(milk, 1), DIFFUSION)
    return milk


def spread(milk: np.ndarray) -> float:
    """The variance of the milk's place along a row, in cells²; in free diffusion it grows by 2 · MIXING each step."""
    column = np.arange(milk.shape[1])
    share = milk.sum(axis=0) / milk.sum()
    mean = share @ column
    return float(share @ (column - mean) ** 2)


def show() -> tuple[Figure, str]:
    """A noisy series and its moving average; a drop of milk after some steps, and how far it has spread."""
    random, width = np.random.default_rng(1), 21
    place = np.arange(200)
    true = np.sin(place / 18) + place / 150
    noisy = true + random.normal(0, 0.5, 200)
    smooth = moving_average(noisy, bell(width))
    middle = slice(width // 2, -(width // 2))
    before, after = (np.sqrt(np.mean((each - true[middle]) ** 2)) for each in (noisy[middle], smooth))

    figure = new_figure(11, 5.6)
    series, drops = figure.subfigures(2, 1)
    average, weights = series.subplots(1, 2, width_ratios=[3, 1])
    average.plot(place, noisy, ".", color="grey", markersize=4, label="a noisy series")
    average.plot(place, true, ":", color=BLACK, label="the same without noise")
    average.plot(place[middle], smooth, color=ORANGE, linewidth=2, label=f"moving average of {width} values")
    title = f"a moving average: root mean square error {before:.2f} before, {after:.2f} after"
    average.set(title=title, xlabel="time", ylim=(-1.6, 3.7))
    average.legend(fontsize=8, ncols=3, loc="upper center")
    weights.bar(np.arange(width) - width // 2, bell(width), color=BLUE)
    weights.set(title="kernel: sums to 1", xlabel="place in the window")

    drop = np.zeros([61, 61])
    drop[30, 30] = 1.0
    *maps, growth = drops.subplots(1, 5, width_ratios=[1, 1, 1, 1, 1.6])
    times = (0, 10, 50, 150)
    for axes, steps in zip(maps, times, strict=True):
        show_map(axes, np.sqrt(diffuse(drop, steps)), f"milk after {steps} steps")
    steps = range(0, 161, 20)
    growth.plot(steps, [spread(diffuse(drop, count)) for count in steps], "o", color=BLUE, label="measured")
    growth.plot(steps, [2 * MIXING * count for count in steps], color=ORANGE, label=f"{2 * MIXING:g} × steps")
    growth.set(title="spread: variance of the place", xlabel="steps", ylabel="cells²")
    growth.legend(fontsize=8)
    return figure, (
        f"a moving average of {width} values brings the error from {before:.2f} to {after:.2f};"
        f" milk spreads to a variance of {spread(diffuse(drop, 150)):.1f} cells² in 150 steps, {2 * MIXING * 150:.1f}"
        " expected"
    )
