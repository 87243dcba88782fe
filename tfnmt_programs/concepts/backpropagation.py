"""Back-propagation by hand: the gradient of a net of any number of layers, from the last one to the first.

Forward: a_l = h_{l−1} W_l + b_l, h_l = f(a_l), and the last layer's sums are the logit of a logistic regression.
Backward: the error of each layer is made from that of the one above, d_{l−1} = (d_l W_lᵀ) ⊙ f'(a_{l−1}), and its
weights' gradient is h_{l−1}ᵀ d_l. No product is computed twice.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, RED, new_figure
from tfnmt_programs.concepts.logistic_regression import sigmoid
from tfnmt_programs.concepts.units import relu

Weights = list[tuple[np.ndarray, np.ndarray]]
"""(W, b) of each layer."""


class Activation(NamedTuple):
    """f, and its derivative f' at the same sums a."""

    f: Callable[[np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray], np.ndarray]


ACTIVATIONS = {
    "sigmoid": Activation(sigmoid, lambda a: sigmoid(a) * (1 - sigmoid(a))),
    "ReLU": Activation(relu, lambda a: (a > 0).astype(float)),
}


def forward(x: np.ndarray, weights: Weights, activation: Activation) -> tuple[list, list]:
    """All sums a_l and all features h_l, h_0 = x first: lists of [examples, units]."""
    sums, features = [], [x]
    for number, (W, b) in enumerate(weights, start=1):
        sums.append(features[-1] @ W + b)
        if number < len(weights):
            features.append(activation.f(sums[-1]))
    return sums, features


def cross_entropy(logits: np.ndarray, y: np.ndarray) -> float:
    """−1/n Σ log p(y) with p = σ(logit): logits [examples, 1], classes 0 or 1 [examples]."""
    return float(np.mean(np.logaddexp(0, logits[:, 0]) - y * logits[:, 0]))


def backward(sums: list, features: list, weights: Weights, y: np.ndarray, activation: Activation) -> Weights:
    """The gradient of `cross_entropy` by every W and b, from what `forward` has computed."""
    d = (sigmoid(sums[-1]) - y[:, np.newaxis]) / len(y)
    gradients = []
    for layer in reversed(range(len(weights))):
        gradients.append((features[layer].T @ d, d.sum(axis=0)))
        if layer:
            d = (d @ weights[layer][0].T) * activation.derivative(sums[layer - 1])
    return gradients[::-1]


EXAMPLE_X, EXAMPLE_Y = np.array([[1.0, 2.0]]), np.array([1.0])
EXAMPLE_WEIGHTS: Weights = [
    (np.array([[0.5, -1.0], [0.25, 0.5]]), np.array([0.0, 0.5])),
    (np.array([[1.0], [-2.0]]), np.array([0.1])),
]
"""Two inputs, two rectified units, one logit: small enough to check with a pencil."""


def show() -> tuple[Figure, str]:
    """The example's numbers, forward above the arrows and the units, backward below."""
    activation = ACTIVATIONS["ReLU"]
    sums, features = forward(EXAMPLE_X, EXAMPLE_WEIGHTS, activation)
    gradients = backward(sums, features, EXAMPLE_WEIGHTS, EXAMPLE_Y, activation)
    loss = cross_entropy(sums[-1], EXAMPLE_Y)
    figure = new_figure(9.5, 4.4)
    axes = figure.subplots()
    places = [[(0, 1), (0, -1)], [(2, 1), (2, -1)], [(4, 0)]]
    values = [*features, sums[-1]]
    names = ("x", "h", "logit")
    white = {
        "ha": "center",
        "va": "center",
        "fontsize": 9,
        "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1},
    }
    for layer, ((W, b), (dW, db)) in enumerate(zip(EXAMPLE_WEIGHTS, gradients, strict=True)):
        for (i, j), weight in np.ndenumerate(W):
            (x0, y0), (x1, y1) = places[layer][i], places[layer + 1][j]
            axes.annotate("", (x1 - 0.3, y1), (x0 + 0.3, y0), arrowprops={"arrowstyle": "->", "color": "grey"})
            part = 0.5 if i == j or layer else 0.25
            x, y = x0 + part * (x1 - x0), y0 + part * (y1 - y0)
            axes.text(x, y + 0.11, f"w = {weight:g}".replace("-", "−"), color=BLUE, **white)
            axes.text(x, y - 0.11, f"{dW[i, j]:+.3f}".replace("-", "−"), color=RED, **white)
        for (x, y), bias, gradient in zip(places[layer + 1], b, db, strict=True):
            axes.text(x, y + 0.33, f"b = {bias:g}".replace("-", "−"), color=BLUE, **white)
            axes.text(x, y - 0.33, f"{gradient:+.3f}".replace("-", "−"), color=RED, **white)
    for layer, row in enumerate(places):
        for unit, (x, y) in enumerate(row):
            text = f"{names[layer]}{'₁₂'[unit] if len(row) > 1 else ''}\n{values[layer][0, unit]:g}"
            axes.text(x, y, text, ha="center", va="center", bbox={"boxstyle": "round", "facecolor": "white"})
    axes.annotate("", (5.3, 0), (4.35, 0), arrowprops={"arrowstyle": "->", "color": "grey"})
    axes.text(
        5.9, 0, f"loss −log p\n{loss:.3f}", ha="center", va="center", bbox={"boxstyle": "round", "facecolor": "white"}
    )
    axes.text(
        2.9,
        -2.0,
        "blue: weights and biases, read forward; orange: gradient of the loss by each, found backward\n"
        "h = max(0, w₁ x₁ + w₂ x₂ + b); logit = w₁ h₁ + w₂ h₂ + b; p = σ(logit)",
        ha="center",
    )
    axes.set(xlim=(-0.6, 6.6), ylim=(-2.15, 1.6))
    axes.axis("off")
    return (
        figure,
        f"loss {loss:.4f}; its gradient by the second layer's weights: {gradients[1][0].ravel().round(4).tolist()}",
    )
