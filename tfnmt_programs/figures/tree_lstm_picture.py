"""Figure 2 of Bradbury's post (2017): a TreeLSTM with the tracker's state as its third input, with its own numbers."""

import keras
import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from tfnmt.inspection.figures import BLACK, BLUE, RED, new_figure
from tfnmt.layers.trees.tree_lstm import TreeLSTM

UNITS, TRACKER_UNITS = 6, 4


def gates_by_hand(compose: TreeLSTM, h: np.ndarray, c: np.ndarray, e: np.ndarray) -> dict[str, np.ndarray]:
    """The equations of `TreeLSTM`, one after the other, for one pair of children.

    Args:
        compose: built for a tracker.
        h, c: float [2, units], of the left child and of the right one.
        e: float [tracker_units], the tracker's state.

    Returns:
        {"g", "i", "f_l", "f_r", "o" after their activations, "c", "h"}, float [units] each.
    """
    sums = np.concatenate([*h, e]) @ compose.W.numpy() + compose.b.numpy()
    g, *gates = np.split(sums, 5)
    i, f_l, f_r, o = (1 / (1 + np.exp(-gate)) for gate in gates)
    g = np.tanh(g)
    memory = g * i + f_l * c[0] + f_r * c[1]
    return {"g": g, "i": i, "f_l": f_l, "f_r": f_r, "o": o, "c": memory, "h": o * np.tanh(memory)}


def example(seed: int = 1) -> tuple[TreeLSTM, np.ndarray, np.ndarray, np.ndarray]:
    """An untrained TreeLSTM, and random children and tracker's state: (compose, h, c, e)."""
    keras.utils.set_random_seed(seed)
    compose = TreeLSTM(UNITS, TRACKER_UNITS)
    compose.build([(None, 2, UNITS), (None, 2, UNITS)])
    random = np.random.default_rng(seed)
    h, c = (random.uniform(-1, 1, (2, UNITS)).astype(np.float32) for _ in range(2))
    return compose, h, c, random.uniform(-1, 1, TRACKER_UNITS).astype(np.float32)


def draw_tree_lstm() -> tuple[Figure, float]:
    """The picture, and by how much the layer's h differs from the equations."""
    compose, h, c, e = example()
    found = gates_by_hand(compose, h, c, e)
    by_layer, _ = compose((tf.constant(h[np.newaxis]), tf.constant(c[np.newaxis])), tf.constant(e[np.newaxis]))
    figure = new_figure(11, 5.6)
    figure.set_layout_engine("none")
    inputs = {"h_l": (h[0], 0.06, BLUE), "h_r": (h[1], 0.22, BLACK), "e, tracker": (e, 0.38, RED)}
    memories = {"c_l": (c[0], 0.62, BLUE), "c_r": (c[1], 0.78, BLACK)}
    anchors = {}
    for name, (vector, x, color) in (inputs | memories).items():
        anchors[name] = _strip(figure, vector, x, 0.08, name, color)
    for place, name in enumerate(("g", "i", "f_l", "f_r", "o")):
        anchors[name] = _strip(figure, found[name], 0.06 + 0.16 * place, 0.42, name, "0.4")
        for source, (_, _, color) in inputs.items():
            _arrow(figure, anchors[source], anchors[name], color)
    anchors["c"] = _strip(figure, found["c"], 0.38, 0.76, "c = g ⊙ i + f_l ⊙ c_l + f_r ⊙ c_r", "0.4")
    anchors["h"] = _strip(figure, found["h"], 0.7, 0.76, "h = o ⊙ tanh(c)", "0.4")
    for source, goal in (("g", "c"), ("i", "c"), ("f_l", "c"), ("f_r", "c"), ("o", "h")):
        _arrow(figure, anchors[source], anchors[goal], "0.5")
    for source in memories:
        _arrow(figure, anchors[source], anchors["c"], "0.5", dashed=True)
    figure.text(
        0.5,
        0.005,
        "five groups of three linear maps, by left child (blue), right child (black), tracker (red)",
        ha="center",
    )
    return figure, float(np.abs(by_layer[0].numpy() - found["h"]).max())


def _strip(figure, vector, x, y, name, color):
    """A vector as a row of colours with its numbers; returns (x of the middle, lower y, upper y)."""
    axes = figure.add_axes((x, y, 0.13, 0.07))
    axes.imshow(vector[np.newaxis], cmap="PuOr", vmin=-1, vmax=1, aspect="auto")
    for i, value in enumerate(vector):
        axes.text(i, 0, f"{value:.1f}", ha="center", va="center", fontsize=6)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(color=color, linewidth=2)
    axes.set_title(name, fontsize=9, pad=5)
    return x + 0.065, y, y + 0.07


def _arrow(figure, source, goal, color, dashed=False):
    arrow = FancyArrowPatch(
        (source[0], source[2] + 0.035),
        (goal[0], goal[1] - 0.005),
        transform=figure.transFigure,
        arrowstyle="->",
        mutation_scale=8,
        color=color,
        alpha=0.6,
        linestyle="--" if dashed else "-",
    )
    figure.add_artist(arrow)
