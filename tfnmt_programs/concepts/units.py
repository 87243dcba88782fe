"""A unit transforms weighted inputs by an activation function; a layer is many units of one kind side by side."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, new_figure
from tfnmt_programs.concepts.logistic_regression import sigmoid


def relu(x: np.ndarray) -> np.ndarray:
    """f(x) = max(0, x), the rectified linear activation function."""
    return np.maximum(0, x)


def layer(x: np.ndarray, W: np.ndarray, b: np.ndarray, activation: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """h = f(xW + b): x [examples, inputs], W [inputs, units], b [units] → [examples, units]."""
    return activation(x @ W + b)


def maxout(x: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """h_k = max_j (x W_j + b_j)_k: each unit is the greatest of several weighted sums (Goodfellow et al. 2013).

    x [examples, inputs], W [pieces, inputs, units], b [pieces, units] → [examples, units].
    """
    return (x @ W + b[:, np.newaxis]).max(axis=0)


# A tooth made of three rectified units: up from −1, down from 0 twice as steeply, level again from 1.
TOOTH_W, TOOTH_B, TOOTH_OUT = np.array([[1.0, 1.0, 1.0]]), np.array([1.0, 0.0, -1.0]), np.array([1.0, -2.0, 1.0])

# |x|, but no less than a half, as one maxout unit of three pieces.
PIECES_W, PIECES_B = np.array([[[-1.0]], [[1.0]], [[0.0]]]), np.array([[0.0], [0.0], [0.5]])


def show() -> tuple[Figure, str]:
    """Activation functions; three rectified units and what a layer above makes of them; a maxout unit."""
    t = np.linspace(-2.5, 2.5, 201)
    x = t[:, np.newaxis]
    hidden = layer(x, TOOTH_W, TOOTH_B, relu)
    tooth, greatest = hidden @ TOOTH_OUT, maxout(x, PIECES_W, PIECES_B)[:, 0]

    figure = new_figure(11, 3.7)
    functions, layers, pieces = figure.subplots(1, 3)
    for f, name, color, line in (
        (sigmoid, "sigmoid", BLUE, "-"),
        (np.tanh, "tanh", ORANGE, "--"),
        (relu, "ReLU: max(0, x)", RED, "-."),
    ):
        functions.plot(t, f(t), line, color=color, label=name, linewidth=2)
    functions.set(title="activation functions", xlabel="x, the weighted inputs", ylabel="f(x)")
    for k, (color, line) in enumerate(((BLUE, ":"), (ORANGE, "--"), (GREEN, "-."))):
        layers.plot(
            t, hidden[:, k], line, color=color, label=f"h{'₁₂₃'[k]} = max(0, x{TOOTH_B[k]:+g})".replace("+0", "")
        )
    layers.plot(t, tooth, color=BLACK, linewidth=2.5, label="h₁ − 2 h₂ + h₃")
    layers.set(title="a layer of three units, and their sum", xlabel="x, the input", ylabel="h")
    for j, line in enumerate((":", "--", "-.")):
        pieces.plot(t, t * PIECES_W[j, 0, 0] + PIECES_B[j, 0], line, color=PURPLE, label=f"piece {j + 1}")
    pieces.plot(t, greatest, color=BLACK, linewidth=2.5, label="their maximum")
    pieces.set(title="one maxout unit of three pieces", xlabel="x, the input", ylabel="h")
    for axes in (functions, layers, pieces):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="lower center" if axes is pieces else "upper left")
    functions.set_ylim(-1.4, 3.6)
    layers.set_ylim(-0.4, 5)
    return (
        figure,
        f"three rectified units make a tooth: 0, {tooth.max():g}, 0; maxout's least value is {greatest.min()}",
    )
