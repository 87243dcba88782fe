"""What the pictures of concepts share: grey maps, and a drawn scene to filter."""

import numpy as np
from matplotlib.axes import Axes


def show_map(axes: Axes, values: np.ndarray, title: str, signed: bool = False) -> None:
    """A feature map, kernel or picture [rows, columns]: grey from low (black) to high (white).

    `signed`: brown for negative, white for 0, violet for positive.
    """
    scale = np.abs(values).max() or 1.0
    options = {"cmap": "PuOr", "vmin": -scale, "vmax": scale} if signed else {"cmap": "gray"}
    axes.imshow(values, interpolation="nearest", **options)
    axes.set_title(title, fontsize=10)
    axes.set_xticks([])
    axes.set_yticks([])


def write_values(axes: Axes, values: np.ndarray) -> None:
    """Each number in its cell, over `show_map`."""
    for (row, column), value in np.ndenumerate(values):
        axes.text(column, row, f"{value:g}", ha="center", va="center", fontsize=10)


def house(size: int = 128) -> np.ndarray:
    """A picture to filter: a house, a door, a window and a sun. Float [size, size] from 0 (black) to 1 (white)."""
    row, column = np.mgrid[:size, :size] / size
    picture = 0.75 - 0.25 * row  # the sky, and no edge in it
    picture = np.where(row > 0.8, 0.35, picture)  # the ground
    picture = np.where((row - 0.2) ** 2 + (column - 0.8) ** 2 < 0.01, 1.0, picture)  # the sun
    picture = np.where((abs(column - 0.42) < 0.22) & (row > 0.45) & (row < 0.85), 0.9, picture)  # the wall
    picture = np.where((row > 0.2) & (row <= 0.45) & (abs(column - 0.42) < row - 0.17), 0.2, picture)  # the roof
    picture = np.where((abs(column - 0.34) < 0.06) & (row > 0.6) & (row < 0.85), 0.3, picture)  # the door
    return np.where((abs(column - 0.53) < 0.06) & (abs(row - 0.6) < 0.06), 0.4, picture)  # the window
