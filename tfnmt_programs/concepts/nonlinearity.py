"""Why activation functions are not linear: what 1000 linear maps cannot do, and one layer can.

The post's four points: A1 and A2 lie close to each other, so do B1 and B2, and the pairs lie alike and far from each
other: A2 − A1 = B2 − B1. We want B1 close to A1, as A2 is, and B2 distant. For any linear (or affine) map f

    f(B2) − f(A1) = [f(B1) − f(A1)] + [f(A2) − f(A1)]
    ‖f(B2) − f(A1)‖ ≤ ‖f(B1) − f(A1)‖ + ‖f(A2) − f(A1)‖,

so that B2 comes along. (Where A2 − A1 and B2 − B1 point to different sides, a projection can do it: the argument
is about relations that are the same in both pairs.)
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, RED, new_figure
from tfnmt_programs.concepts.units import layer, relu

NAMES = ("A1", "A2", "B1", "B2")
POINTS = np.array([[0.0, 0.0], [0.2, 0.6], [3.0, 0.0], [3.2, 0.6]])
"""One row each, in the order of `NAMES`."""

# Both units see A1, A2 and B1 at or below their thresholds and only B2 above.
W = np.array([[1.0, 0.5], [4.0, 6.0]])
B = np.array([-3.2, -4.0])


def distances(points: np.ndarray) -> np.ndarray:
    """From A1 to A2, B1 and B2: points [..., 4, size] → [..., 3]."""
    return np.linalg.norm(points[..., 1:, :] - points[..., :1, :], axis=-1)


def bend(points: np.ndarray) -> np.ndarray:
    """One layer of two rectified units: h = max(0, xW + b)."""
    return layer(points, W, B, relu)


def chain(matrices: Sequence[np.ndarray]) -> np.ndarray:
    """Any number of linear layers is one: ((x W_1) W_2) … = x (W_1 W_2 …). Returns W_1 W_2 …"""
    product = matrices[0]
    for matrix in matrices[1:]:
        product = product @ matrix
    return product


def show() -> tuple[Figure, str]:
    """The points, what linear maps make of them, what one layer does, and a thousand linear maps against the bound."""
    figure = new_figure(9, 6)
    (given, squeezed), (bent, many) = figure.subplots(2, 2)
    squeeze = np.array([[0.05, 0.0], [0.0, 2.0]])
    _scatter(given, POINTS, "given: x")
    _scatter(squeezed, POINTS @ squeeze, "a linear map, xW: B1 near A1 and so B2 near A2")
    _scatter(bent, bend(POINTS), "one layer, max(0, xW + b): only B2 is distant")

    matrices = np.random.default_rng(1).normal(size=(1000, 2, 2))
    a2, b1, b2 = np.moveaxis(distances(POINTS @ matrices), -1, 0)
    many.scatter(a2 + b1, b2, s=6, color=BLUE, label="1000 linear maps")
    a2, b1, b2 = distances(bend(POINTS))
    many.scatter(a2 + b1, b2, marker="*", s=160, color=RED, label="the layer")
    many.axline((0, 0), slope=1, color="black", linewidth=1)
    many.annotate("bound of linear maps", (3, 3), (0.3, 6), arrowprops={"arrowstyle": "->"}, fontsize=9)
    many.set(xlim=(-0.5, 10), ylim=(-0.5, 10))
    many.set(xlabel="distance of A2 from A1 + of B1 from A1", ylabel="distance of B2 from A1")
    many.legend(fontsize=9, loc="lower right")
    return figure, f"the layer leaves A2 and B1 at {a2:.1f} and {b1:.1f} from A1, and B2 at {b2:.1f}"


def _scatter(axes, points, title):
    groups = {}
    for name, point in zip(NAMES, points.round(3), strict=True):
        groups.setdefault(tuple(point + 0.0), []).append(name)
    for point, names in groups.items():
        color, marker = (BLUE, "o") if names[0][0] == "A" else (RED, "^")
        axes.scatter(*point, color=color, marker=marker, s=50)
        side, align = ((-8, 6), "right") if names[0][0] == "A" else ((8, 6), "left")
        axes.annotate(" = ".join(names), point, xytext=side, textcoords="offset points", ha=align)
    axes.set(xlim=(-1.9, 4.2), ylim=(-0.5, 1.9), xlabel="first dimension", ylabel="second dimension")
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
