"""Logistic regression: which of two classes, from weighted inputs. The last layer of a classifier is one."""

import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, ORANGE, new_figure


def sigmoid(x: np.ndarray) -> np.ndarray:
    """f(x) = 1 / (1 + e^{−x}), the logistic sigmoid (the post's Figure 2)."""
    return (1 + np.tanh(x / 2)) / 2  # the same, and e^{−x} cannot overflow


def softmax(x: np.ndarray) -> np.ndarray:
    """f(x)_k = e^{x_k} / Σ_j e^{x_j} over the last dimension: the sigmoid for more than two classes."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def predict(x: np.ndarray, w: np.ndarray, b: float) -> np.ndarray:
    """p = f(xw + b), the probability of class 1: x [examples, inputs], w [inputs] → [examples]."""
    return sigmoid(x @ w + b)


def loss(x: np.ndarray, y: np.ndarray, w: np.ndarray, b: float) -> float:
    """−1/n Σ_i y_i log p_i + (1 − y_i) log(1 − p_i), the cross-entropy."""
    p = predict(x, w, b)
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))


def fit(x: np.ndarray, y: np.ndarray, steps: int = 500, learning_rate: float = 1.0) -> tuple[np.ndarray, float]:
    """Predict and adjust: w ← w − η 1/n Xᵀ(p − y), down the gradient of the loss.

    Args:
        x: float [examples, inputs].
        y: the classes, 0 or 1 [examples].

    Returns:
        w [inputs] and b, a number.
    """
    w, b = np.zeros(x.shape[1]), 0.0
    for _ in range(steps):
        error = predict(x, w, b) - y
        w -= learning_rate * x.T @ error / len(x)
        b -= learning_rate * error.mean()
    return w, b


def show() -> tuple[Figure, str]:
    """The sigmoid, and a regression on two clouds of points."""
    random = np.random.default_rng(1)
    y = np.repeat([0, 1], 60)
    x = random.normal(size=(120, 2)) + np.where(y[:, np.newaxis], [1.1, 0.8], [-0.9, -0.7])
    w, b = fit(x, y)

    figure = new_figure(10, 4)
    curve, plane = figure.subplots(1, 2)
    t = np.linspace(-6, 6, 200)
    curve.plot(t, sigmoid(t), color=BLUE, linewidth=2)
    curve.axhline(0.5, color="grey", linewidth=0.8, linestyle=":")
    curve.axvline(0, color="grey", linewidth=0.8, linestyle=":")
    curve.set(xlabel="x, the weighted inputs", ylabel="f(x) = 1 / (1 + e⁻ˣ)", title="the logistic sigmoid")

    grid = np.stack(np.meshgrid(np.linspace(-4, 4, 100), np.linspace(-4, 4, 100)), axis=-1)
    for level, style in ((0.1, ":"), (0.5, "-"), (0.9, "--")):
        plane.contour(*np.moveaxis(grid, -1, 0), predict(grid, w, b), [level], colors="black", linestyles=style)
        plane.plot([], [], color="black", linestyle=style, label=f"p = {level}")
    for label, color, marker in ((0, BLUE, "o"), (1, ORANGE, "^")):
        plane.scatter(*x[y == label].T, color=color, marker=marker, s=20, label=f"class {label}")
    plane.set(xlabel="first input", ylabel="second input", title="logistic regression: p of class 1")
    plane.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=8)
    right = np.mean((predict(x, w, b) > 0.5) == y)
    return figure, f"loss {loss(x, y, 0 * w, 0):.3f} → {loss(x, y, w, b):.3f}; {right:.0%} of 120 points right"
