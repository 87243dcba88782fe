"""Pooling: each area of a feature map becomes one number, so that it matters less where in the area something is."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tfnmt.inspection.figures import COLORS, RED, new_figure
from tfnmt_programs.concepts.convolution import EDGES, convolve
from tfnmt_programs.concepts.drawing import house, show_map


def pool(feature_map: np.ndarray, size: int, reduce: Callable = np.max) -> np.ndarray:
    """p[i, j] = max over 0 ≤ m, n < size of f[size · i + m, size · j + n]; or their mean, with `reduce=np.mean`.

    float [rows, columns] → [rows // size, columns // size]; what does not fill an area is left out.
    """
    rows, columns = (n // size for n in feature_map.shape)
    areas = feature_map[: rows * size, : columns * size].reshape(rows, size, columns, size)
    return reduce(areas, axis=(1, 3))


def shifted(feature_map: np.ndarray, right: int) -> np.ndarray:
    """The map moved to the right by so many columns; what leaves it comes in at the left."""
    return np.roll(feature_map, right, axis=1)


def likeness(a: np.ndarray, b: np.ndarray) -> float:
    """The correlation of two maps' values: 1 for equal maps, about 0 for unrelated ones."""
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def show() -> tuple[Figure, str]:
    """Edges, and edges 2 columns further: before and after pooling; then likeness by shift for areas of many sizes."""
    edges = np.abs(convolve(np.pad(house(126), 1, mode="edge"), EDGES)).clip(0, 3)
    edges = np.pad(edges[:, 8:-8], ((1, 1), (9, 9)))  # room to move in
    figure = new_figure(10, 4.6)
    maps, plot = figure.subfigures(1, 2, width_ratios=[1, 1.2])
    (first, pooled), (second, pooled_second) = maps.subplots(2, 2)
    lines = plot.subplots()
    moved = shifted(edges, 2)
    show_map(first, edges[16:72, 16:72], "edges (a part)")
    show_map(second, moved[16:72, 16:72], "moved right by 2")
    show_map(pooled, pool(edges, 8)[2:9, 2:9], "greatest of 8 × 8")
    show_map(pooled_second, pool(moved, 8)[2:9, 2:9], "the same, moved")
    for axes, width in ((first, 8), (second, 8), (pooled, 1), (pooled_second, 1)):
        axes.add_patch(Rectangle((2 * width - 0.5, 4 * width - 0.5), width, width, fill=False, edgecolor=RED))
    shifts = range(9)
    for size, color, marker in zip((1, 2, 4, 8, 16), COLORS, "os^Dv", strict=False):
        values = [likeness(pool(edges, size), pool(shifted(edges, shift), size)) for shift in shifts]
        label = "no pooling" if size == 1 else f"{size} × {size}"
        lines.plot(shifts, values, color=color, marker=marker, markersize=4, label=label)
    lines.set(xlabel="columns moved", ylabel="correlation with the unmoved", title="tolerance to shift")
    lines.grid(alpha=0.3)
    lines.legend(fontsize=9)
    before, after = likeness(edges, moved), likeness(pool(edges, 8), pool(moved, 8))
    return figure, f"moved by 2 columns, edges correlate {before:.2f} with the unmoved; pooled 8 × 8, {after:.2f}"
