"""Figure 2 of Bradbury's post (2017): a TreeLSTM with the tracker's state as its third input, with its own numbers."""

from typing import NamedTuple

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
        {"tanh(g)", "σ(i)", "σ(f_l)", "σ(f_r)", "σ(o)", "c", "h"}, float [units] each.
    """
    sums = np.concatenate([*h, e]) @ compose.W.numpy() + compose.b.numpy()
    g, *gates = np.split(sums, 5)
    i, f_l, f_r, o = (1 / (1 + np.exp(-gate)) for gate in gates)
    g = np.tanh(g)
    memory = g * i + f_l * c[0] + f_r * c[1]
    activated = {"tanh(g)": g, "σ(i)": i, "σ(f_l)": f_l, "σ(f_r)": f_r, "σ(o)": o}
    return {**activated, "c": memory, "h": o * np.tanh(memory)}


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
    inputs = {"h_l": (h[0], BLUE), "h_r": (h[1], BLACK), "e, tracker": (e, RED)}
    anchors = {}
    for place, (name, (vector, color)) in enumerate(inputs.items()):
        anchors[name] = _strip(figure, vector, 0.225 + 0.195 * place, 0.12, name, color)
    activated = ("tanh(g)", "σ(i)", "σ(f_l)", "σ(f_r)", "σ(o)")
    for place, name in enumerate(activated):
        anchors[name] = _strip(figure, found[name], 0.03 + 0.195 * place, 0.38, name, "0.4")
        for source, (_, color) in inputs.items():
            _arrow(figure, anchors[source].top, anchors[name].bottom, color)
    c_l = _strip(figure, c[0], 0.03, 0.64, "c_l", BLUE)
    c_r = _strip(figure, c[1], 0.66, 0.64, "c_r", BLACK)
    memory = _strip(figure, found["c"], 0.42, 0.64, "c = tanh(g) ⊙ σ(i) + σ(f_l) ⊙ c_l + σ(f_r) ⊙ c_r", "0.4")
    output = _strip(figure, found["h"], 0.81, 0.87, "h = σ(o) ⊙ tanh(c)", "0.4")
    for name in activated[:-1]:
        _arrow(figure, anchors[name].top, memory.bottom, "0.3")
    _arrow(figure, c_l.right, memory.left, BLUE)
    _arrow(figure, c_r.left, memory.right, BLACK)
    _arrow(figure, memory.top, output.bottom, "0.3")
    _arrow(figure, anchors["σ(o)"].top, output.bottom, "0.3")
    meaning = (
        "g, i, f_l, f_r and o: sums of three linear maps each, of the left child (blue), the right child (black), the "
        "tracker (orange)"
    )
    figure.text(0.5, 0.02, meaning, ha="center", fontsize=9)
    return figure, float(np.abs(by_layer[0].numpy() - found["h"]).max())


class _Anchors(NamedTuple):
    """Where arrows begin and end at a vector, in parts of the figure."""

    bottom: tuple[float, float]
    top: tuple[float, float]
    left: tuple[float, float]
    right: tuple[float, float]


def _strip(figure, vector, x, y, name, color):
    """A vector as a row of colours with its numbers, its lower left corner there."""
    width, height = 0.165, 0.07
    axes = figure.add_axes((x, y, width, height))
    axes.imshow(vector[np.newaxis], cmap="PuOr", vmin=-1, vmax=1, aspect="auto")
    for i, value in enumerate(vector):
        text = f"{round(float(value), 2) + 0.0:.2f}".replace("-", "−")
        axes.text(i, 0, text, ha="center", va="center", fontsize=6, color="white" if abs(value) > 0.65 else "black")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(color=color, linewidth=2)
    axes.set_title(name, fontsize=9, pad=5)
    middle = (x + width / 2, y + height / 2)
    return _Anchors(
        (middle[0], y - 0.005), (middle[0], y + height + 0.04), (x - 0.005, middle[1]), (x + width + 0.005, middle[1])
    )


def _arrow(figure, source, goal, color):
    options = {"arrowstyle": "->", "mutation_scale": 8, "color": color, "alpha": 0.6, "shrinkA": 0, "shrinkB": 0}
    figure.add_artist(FancyArrowPatch(source, goal, transform=figure.transFigure, **options))
