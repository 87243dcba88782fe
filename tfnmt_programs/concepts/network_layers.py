"""Input, hidden and output layers of a net that has learned: every unit drawn with what it responds to.

A net of two inputs, two hidden layers and one output on points in a ring (`vanishing_gradient.rings`).
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from tfnmt.inspection.figures import BLUE, ORANGE, new_figure
from tfnmt_programs.concepts.backpropagation import ACTIVATIONS, Weights, forward
from tfnmt_programs.concepts.drawing import show_map
from tfnmt_programs.concepts.vanishing_gradient import fit, rings

UNITS = (6, 4)


def learned_weights(steps: int = 3000, seed: int = 1) -> Weights:
    """Those of a net 2 → 6 → 4 → 1 of sigmoids after so many steps of Adam on 2,000 points."""
    random, sizes = np.random.default_rng(seed), (2, *UNITS, 1)
    weights = [(random.normal(0, 1.5, size), np.zeros(size[1])) for size in zip(sizes, sizes[1:], strict=False)]
    fit(weights, *rings(2000, seed), "sigmoid", steps, rate=0.02, seed=seed)
    return weights


def responses(weights: Weights, size: int = 48) -> list[np.ndarray]:
    """What every unit gives at every point of the plane, layer by layer: [size, size, units] each, the inputs first."""
    side = np.linspace(-2.5, 2.5, size)
    x, y = np.meshgrid(side, side[::-1])
    sums, features = forward(np.stack([x.ravel(), y.ravel()], axis=1), weights, ACTIVATIONS["sigmoid"])
    return [values.reshape(size, size, -1) for values in (*features, np.tanh(sums[-1] / 2))]


def show() -> tuple[Figure, str]:
    """The net: a picture of each unit's responses over the plane, and the weights between them."""
    weights = learned_weights()
    x, y = rings(1000, 9)
    right = np.mean((forward(x, weights, ACTIVATIONS["sigmoid"])[0][-1][:, 0] > 0) == y)
    figure = new_figure(9.5, 5)
    figure.set_layout_engine("none")
    columns = responses(weights)
    names = ("input layer", "hidden layer 1", "hidden layer 2", "output layer")
    drawn = []
    for column, (values, name) in enumerate(zip(columns, names, strict=True)):
        count = values.shape[-1]
        row = []
        for unit in range(count):
            place = 0.49 + 0.148 * ((count - 1) / 2 - unit)
            axes = figure.add_axes((0.05 + 0.26 * column, place - 0.065, 0.12, 0.13))
            show_map(axes, values[:, :, unit], "")
            row.append(axes)
        figure.text(0.11 + 0.26 * column, 0.95, name, ha="center")
        drawn.append(row)
    for layer, (W, _) in enumerate(weights):
        for (i, j), weight in np.ndenumerate(W):
            line = ConnectionPatch(
                (1, 0.5),
                (0, 0.5),
                "axes fraction",
                "axes fraction",
                axesA=drawn[layer][i],
                axesB=drawn[layer + 1][j],
                color=BLUE if weight > 0 else ORANGE,
                linewidth=4 * abs(weight) / np.abs(W).max(),
                alpha=0.6,
            )
            figure.add_artist(line)
    figure.text(
        0.5,
        0.01,
        "each square: a unit's response over the plane; lines: weights, blue positive, orange negative",
        ha="center",
    )
    return figure, f"2 inputs, hidden layers of 6 and 4 sigmoids, 1 output: {right:.1%} of 1,000 new points right"
