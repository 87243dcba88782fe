"""The vanishing gradient: in deep nets of sigmoids the first layers hardly learn; rectified units train.

The derivative of the sigmoid is at most 1/4, and the gradient of the first layer is a product of as many of them as
there are layers above. That of max(0, x) is 1 wherever the unit responds.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, ORANGE, new_figure
from tfnmt_programs.concepts.backpropagation import ACTIVATIONS, Weights, backward, forward

UNITS = 24
DEPTHS = (1, 2, 3, 5, 7, 10, 15, 20, 25, 30)
STEPS, BATCH = 1500, 64
RATES = {"sigmoid": 0.02, "ReLU": 0.003}
"""Learning rates, for each activation one at which it learns well where it learns."""


def rings(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points in the plane and whether they lie in a ring: float [count, 2] and 0.0 or 1.0 [count]."""
    x = np.random.default_rng(seed).normal(size=(count, 2))
    return x, (np.abs(np.hypot(*x.T) - 1.2) < 0.45).astype(float)


def new_weights(layers: int, activation: str, seed: int) -> Weights:
    """Random weights of so many hidden layers and the last one: variance 1/n (sigmoid) or 2/n (ReLU) of n inputs."""
    random, sizes = np.random.default_rng(seed), [2, *[UNITS] * layers, 1]
    scale = {"sigmoid": 1.0, "ReLU": 2.0}[activation]
    return [
        (random.normal(0, np.sqrt(scale / inputs), (inputs, outputs)), np.zeros(outputs))
        for inputs, outputs in zip(sizes, sizes[1:], strict=False)
    ]


def gradient_norms(layers: int, activation: str, seed: int = 1) -> np.ndarray:
    """Of each hidden layer's W before training, the first layer's first: [layers]."""
    x, y = rings(500, seed)
    weights = new_weights(layers, activation, seed)
    gradients = backward(*forward(x, weights, ACTIVATIONS[activation]), weights, y, ACTIVATIONS[activation])
    return np.array([np.linalg.norm(dW) for dW, _ in gradients[:-1]])


def fit(weights: Weights, x: np.ndarray, y: np.ndarray, activation: str, steps: int, rate: float, seed: int) -> None:
    """Change the weights by so many steps of Adam (Kingma and Ba 2015) on batches of `BATCH` points."""
    f, random = ACTIVATIONS[activation], np.random.default_rng(seed)
    moments = [[(np.zeros_like(part), np.zeros_like(part)) for part in pair] for pair in weights]
    for step in range(1, steps + 1):
        drawn = random.integers(len(x), size=BATCH)
        gradients = backward(*forward(x[drawn], weights, f), weights, y[drawn], f)
        for pair, of_pair, gradient in zip(weights, moments, gradients, strict=True):
            for part, (mean, square), d in zip(pair, of_pair, gradient, strict=True):
                mean += 0.1 * (d - mean)
                square += 0.001 * (d * d - square)
                part -= rate * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)


def train(layers: int, activation: str, steps: int = STEPS, seed: int = 1) -> float:
    """The share of 1,000 new points that are right after so many steps."""
    weights = new_weights(layers, activation, seed)
    fit(weights, *rings(2000, seed + 1), activation, steps, RATES[activation], seed + 2)
    new_x, new_y = rings(1000, seed + 3)
    logits = forward(new_x, weights, ACTIVATIONS[activation])[0][-1][:, 0]
    return float(np.mean((logits > 0) == new_y))


def show(depths: Sequence[int] = DEPTHS, steps: int = STEPS) -> tuple[Figure, str]:
    """The first layer's gradient by depth; the gradients within the deepest net; what nets of each depth learn."""
    figure = new_figure(11, 3.7)
    first, within, learned = figure.subplots(1, 3)
    said = []
    for name, color, marker in (("sigmoid", BLUE, "o"), ("ReLU", ORANGE, "^")):
        options = {"color": color, "marker": marker, "markersize": 4, "label": name}
        norms = [gradient_norms(depth, name)[0] for depth in depths]
        right = [train(depth, name, steps) for depth in depths]
        first.plot(depths, norms, **options)
        within.plot(range(1, depths[-1] + 1), gradient_norms(depths[-1], name), **options)
        learned.plot(depths, right, **options)
        said.append(
            f"{name}: {norms[0]:.2g} with {depths[0]} layer, {norms[-1]:.1g} with {depths[-1]}, {right[-1]:.0%} right"
        )
    share = max(np.mean(rings(1000, 4)[1]), 1 - np.mean(rings(1000, 4)[1]))
    learned.axhline(share, color="grey", linestyle=":", label="the more frequent class")
    first.set(yscale="log", xlabel="hidden layers", title="gradient of the first layer's W, its norm")
    within.set(yscale="log", xlabel="layer, from the input", title=f"gradients in a net of {depths[-1]} layers")
    learned.set(xlabel="hidden layers", title=f"new points right after {steps:,} steps", ylim=(0.4, 1.02))
    for axes in (first, within, learned):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    return figure, "gradient of the first layer: " + "; ".join(said)
