"""Cross-correlation: the kernel as a feature detector. It is convolution with the kernel turned upside down.

Convolutional layers compute this, under the name of convolution: kernels are learned, so their direction is all one.
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tfnmt.inspection.figures import RED, new_figure
from tfnmt_programs.concepts.convolution import convolve
from tfnmt_programs.concepts.drawing import show_map


def correlate(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """(f ⋆ g)[i, j] = Σ_m Σ_n f[i + m, j + n] g[m, n] = (f ∗ g')[i, j] with g'[m, n] = g[−m, −n].

    Shapes as for `convolve`.
    """
    return convolve(image, kernel[::-1, ::-1])


def detector(feature: np.ndarray) -> np.ndarray:
    """A kernel that answers most to the feature: its values less their mean, of length 1.

    So the patch x that gives the greatest answer of all patches of one contrast is the feature itself (Cauchy and
    Schwarz: x · g ≤ ‖x‖ ‖g‖), and brightness alone gives 0.
    """
    centred = feature - feature.mean()
    return centred / np.linalg.norm(centred)


def find(image: np.ndarray, feature: np.ndarray) -> tuple[int, int]:
    """Where the feature is: (row, column) of the upper left corner of the patch with the greatest answer."""
    answers = correlate(image, detector(feature))
    return tuple(int(i) for i in np.unravel_index(answers.argmax(), answers.shape))


def letters() -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """A picture of drawn letters, [64, 64] and noisy, and one of them, an F, [13, 11]."""
    strokes = {
        "F": ("#######", "#......", "#......", "#####..", "#......", "#......", "#......", "#......", "#......"),
        "L": ("#......", "#......", "#......", "#......", "#......", "#......", "#......", "#......", "#######"),
        "T": ("#######", "...#...", "...#...", "...#...", "...#...", "...#...", "...#...", "...#...", "...#..."),
        "H": ("#.....#", "#.....#", "#.....#", "#.....#", "#######", "#.....#", "#.....#", "#.....#", "#.....#"),
    }
    glyphs = {name: np.array([[c == "#" for c in row] for row in rows], float) for name, rows in strokes.items()}
    glyphs |= {"F upside down": glyphs["F"][::-1, ::-1]}
    picture = np.full((64, 64), 0.1)
    places = {"T": (6, 8), "F": (36, 40), "L": (10, 42), "H": (44, 10), "F upside down": (24, 22)}
    for name, (row, column) in places.items():
        picture[row : row + 9, column : column + 7] += 0.8 * glyphs[name]
    picture += np.random.default_rng(1).normal(0, 0.12, picture.shape)
    return picture, np.pad(glyphs["F"], 2), (places["F"][0] - 2, places["F"][1] - 2)


def show() -> tuple[Figure, str]:
    """The post's Figure 4: a letter found among letters, and what convolution finds with the same kernel."""
    picture, letter, right = letters()
    kernel = detector(letter)
    figure = new_figure(10.5, 3.2)
    axes = figure.subplots(1, 4, width_ratios=[1, 0.35, 1, 1])
    show_map(axes[0], picture, "picture")
    show_map(axes[1], kernel, "kernel", signed=True)
    found = find(picture, letter)
    turned = find(picture, letter[::-1, ::-1])
    for ax, answers, place, title in (
        (axes[2], correlate(picture, kernel), found, "cross-correlation finds it"),
        (axes[3], convolve(picture, kernel), turned, "convolution finds it upside down"),
    ):
        show_map(ax, answers, title)
        ax.plot(*place[::-1], "o", color=RED, markersize=14, fillstyle="none", markeredgewidth=2)
        height, width = letter.shape
        corner = (place[1] - 0.5, place[0] - 0.5)
        style = "-" if ax is axes[2] else ":"
        axes[0].add_patch(Rectangle(corner, width, height, fill=False, edgecolor=RED, linewidth=2, linestyle=style))
    return figure, f"the greatest answer is at {found}; the letter F was drawn at {right}"
