"""Convolution: a kernel slides over a feature map and mixes with it, which filters it for what the kernel knows."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tfnmt.inspection.figures import ORANGE, RED, new_figure
from tfnmt_programs.concepts.drawing import house, show_map, write_values

EDGES = np.array([[-1.0, -1.0, -1.0], [-1.0, 8.0, -1.0], [-1.0, -1.0, -1.0]])
"""An edge detector: 0 where all is alike (its sum is 0)."""


def convolve(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """(f ∗ g)[i, j] = Σ_m Σ_n f[i − m, j − n] g[m, n], at every place where the kernel lies wholly within the image.

    Args:
        image: f, float [rows, columns].
        kernel: g, float [kernel_rows, kernel_columns].

    Returns:
        float [rows − kernel_rows + 1, columns − kernel_columns + 1].
    """
    rows, columns = (n - k + 1 for n, k in zip(image.shape, kernel.shape, strict=True))
    last_row, last_column = kernel.shape[0] - 1, kernel.shape[1] - 1
    result = np.zeros([rows, columns])
    for m, n in np.ndindex(kernel.shape):
        top, left = last_row - m, last_column - n
        result += kernel[m, n] * image[top : top + rows, left : left + columns]
    return result


def show() -> tuple[Figure, str]:
    """The post's Figure 3, one place of a small example worked out, and its Figure 2 on a picture drawn here."""
    small = np.array([[1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1], [0, 0, 1, 1, 0], [0, 1, 1, 0, 0]])
    kernel = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    picture = house()
    edges = convolve(picture, EDGES)

    figure = new_figure(8.5, 5.6)
    (image, weights, result), (before, filter_, after) = figure.subplots(2, 3)
    place = (1, 1)
    for axes, values, title in (
        (image, small, "image; patch at (1, 1)"),
        (weights, kernel, "kernel"),
        (result, convolve(small, kernel), "the patch's products, summed"),
    ):
        show_map(axes, np.zeros(values.shape), title)
        axes.images[0].set_cmap("Greys")
        write_values(axes, values)
        axes.set_xticks(np.arange(values.shape[1] - 1) + 0.5, [])
        axes.set_yticks(np.arange(values.shape[0] - 1) + 0.5, [])
        axes.grid(color="lightgrey")
        axes.tick_params(length=0)
    image.add_patch(Rectangle((place[1] - 0.5, place[0] - 0.5), 3, 3, color=ORANGE, alpha=0.45))
    result.add_patch(Rectangle((place[1] - 0.5, place[0] - 0.5), 1, 1, color=RED, alpha=0.45))
    show_map(before, picture, "a picture")
    show_map(filter_, EDGES, "edge kernel", signed=True)
    write_values(filter_, EDGES)
    filter_.texts[4].set_color("white")
    show_map(after, np.abs(edges).clip(0, 3), "its edges: |picture ∗ kernel|")
    flat = np.mean(np.abs(edges) < 0.05)
    return (
        figure,
        f"{flat:.0%} of the picture has no edge; the kernel's answer there is under 0.05, at edges up to "
        + (f"{np.abs(edges).max():.1f}"),
    )
