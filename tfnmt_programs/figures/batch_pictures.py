"""What a static graph computes of a batch: which nodes of its sentences are composed together, and in which order."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from tfnmt.inspection.figures import BLUE, GREEN, ORANGE, new_figure, plain_text
from tfnmt.inspection.trees import EXAMPLE, tree_children, tree_heights, tree_positions
from tfnmt.layers.trees.schedule import schedule_by_depth, schedule_by_step
from tfnmt.text.brackets import PAD, REDUCE

Tree = tuple[Sequence[str], Sequence[int]]
"""Words and transitions, see `tfnmt.text.brackets`."""

PAIR = (EXAMPLE, "( ( Two dogs ) ( ( are running ) . ) )")
"""The sentence of Bradbury's post on SPINN (2017), and the beginning of another one of it."""

SENTENCE_COLORS = (BLUE, ORANGE)


def composed_by_depth(trees: Sequence[Tree]) -> tuple[list[list[tuple[int, int]]], np.ndarray]:
    """What SPINN-PI-NT's loop composes of these sentences.

    Args:
        trees: of the sentences of a batch.

    Returns:
        (iterations, rows): for each iteration a list of (sentence, node), those that it composes in one matrix product,
        in the order of their rows; and int [sentences, steps], the row of every node in the table of `trees.loop`.
    """
    return _composed(schedule_by_depth(_transitions(trees)))


def composed_by_step(trees: Sequence[Tree]) -> tuple[list[list[tuple[int, int]]], np.ndarray]:
    """What SPINN's loop composes of these sentences; arguments and results as those of `composed_by_depth`."""
    return _composed(schedule_by_step(_transitions(trees)))


@plain_text()
def draw_batch(trees: Sequence[Tree]) -> Figure:
    """A figure: two sentences with different trees, composed by depth (above) and by step, beside a tracker (below)."""
    highest = [max(tree_heights(transitions)) for _, transitions in trees]
    words = sum(len(words) for words, _ in trees)
    steps = max(len(transitions) for _, transitions in trees)
    sizes = 0.5 * max(highest) + 1.5, 0.36 * sum(highest) + 3.6
    figure = new_figure(max(9.0, 0.8 * words, 0.72 * steps) + 1.8, sum(sizes))
    by_depth, by_step = figure.subplots(2, 1, height_ratios=sizes)
    _draw_by_depth(by_depth, trees)
    _draw_by_step(by_step, trees)
    return figure


def phrase(words: Sequence[str], transitions: Sequence[int], node: int) -> str:
    """The words below a node, in brackets, such as "( in ( the ceiling ) )"."""
    left, right = tree_children(transitions)[node]
    if transitions[node] != REDUCE:
        return words[left]
    return f"( {phrase(words, transitions, left)} {phrase(words, transitions, right)} )"


def _transitions(trees):
    """int32 [sentences, steps], padded."""
    return tf.ragged.constant([transitions for _, transitions in trees], dtype=tf.int32).to_tensor(PAD)


def _composed(schedule):
    rows = schedule.rows.numpy()
    nodes = {int(row): place for place, row in np.ndenumerate(rows) if row}
    first_parent = len(nodes) - len(schedule.children) + 1  # row 0 is nothing, then come the leaves
    parents = [nodes[row] for row in range(first_parent, len(nodes) + 1)]
    ends = schedule.ends.numpy().tolist()
    return [parents[start:end] for start, end in zip([0, *ends], ends, strict=False)], rows


def _draw_by_depth(axes, trees):
    """Trees side by side; the phrases of one depth are in one box, the roots in the highest."""
    iterations, rows = composed_by_depth(trees)
    starts = np.cumsum([0, *(len(words) + 0.5 for words, _ in trees)])
    iteration = {place: float(number) for number, made in enumerate(iterations, start=1) for place in made}
    places = [
        [(start + x, iteration.get((s, node), 0.0)) for node, (x, _) in enumerate(tree_positions(transitions))]
        for s, (start, (_, transitions)) in enumerate(zip(starts, trees, strict=False))
    ]
    right = starts[-1] - 0.8
    for number, made in enumerate(iterations, start=1):
        _box(axes, (-0.5, number - 0.3), (right, number + 0.3), GREEN)
        axes.text(right + 0.15, number, f"iteration {number}: {_rows_of(len(made))}", va="center", fontsize=9)
    _box(axes, (-0.5, -0.62), (right, 0.3), "0.5")
    axes.text(right + 0.15, -0.16, "the leaves, before the loop", va="center", fontsize=9)
    _draw_nodes(axes, trees, places, rows)
    axes.set(xlim=(-0.7, right + 2.8), ylim=(-0.8, len(iterations) + 0.5))
    parents = sum(map(len, iterations))
    axes.set_title(
        f"by depth (spinn-pi-nt): {parents} phrases in {_products(len(iterations))}\n"
        "a green box is one matrix product; in a circle, the node's row in the table",
        fontsize=11,
    )
    axes.axis("off")


def _draw_by_step(axes, trees):
    """Trees one above the other, a column for each step; under them the tracker, which takes a step in each column."""
    iterations, rows = composed_by_step(trees)
    lowest, places = 0.0, []
    for _, transitions in reversed(trees):
        heights = tree_heights(transitions)
        places.insert(0, [(step, lowest + float(height)) for step, height in enumerate(heights, start=1)])
        lowest += max(heights) + 1.7
    lanes = [-1.7 - 0.8 * sentence for sentence in range(len(trees))]
    for step, made in enumerate(iterations, start=1):
        reading = [lane for lane, (_, transitions) in zip(lanes, trees, strict=True) if step <= len(transitions)]
        _box(axes, (step - 0.32, min(reading) - 0.36), (step + 0.32, max(reading) + 0.36), "0.5")
        if made:
            heights_made = [places[sentence][node][1] for sentence, node in made]
            _box(axes, (step - 0.3, min(heights_made) - 0.4), (step + 0.3, max(heights_made) + 0.4), GREEN)
            _arrow(axes, (step, max(reading) + 0.36), (step, min(heights_made) - 0.4), "0.6", ":")
        axes.text(step, min(lanes) - 0.75, str(step), ha="center", va="center", fontsize=8)
    for sentence, (lane, (_, transitions)) in enumerate(zip(lanes, trees, strict=True)):
        color = SENTENCE_COLORS[sentence]
        axes.plot(range(1, len(transitions) + 1), [lane] * len(transitions), "s", color=color, markersize=9, zorder=3)
        for step in range(1, len(transitions)):
            _arrow(axes, (step + 0.13, lane), (step + 0.87, lane), color)
    _draw_nodes(axes, trees, places, rows)
    axes.text(0.35, np.mean(lanes), "tracker", ha="right", va="center", fontsize=9)
    axes.text(0.35, min(lanes) - 0.75, "step", ha="right", va="center", fontsize=9)
    axes.set(xlim=(-0.8, len(iterations) + 0.7), ylim=(min(lanes) - 1.1, lowest - 0.9))
    parents, products = sum(map(len, iterations)), sum(map(bool, iterations))
    transitions = sum(len(transitions) for _, transitions in trees)
    axes.set_title(
        f"by step (spinn-pi, spinn, rl-spinn): {parents} phrases in {_products(products)}, "
        f"and {transitions} transitions in {len(iterations)} steps of the tracker\n"
        "dotted: the tracker's states, which enter the composition",
        fontsize=11,
    )
    axes.axis("off")


def _draw_nodes(axes, trees, places, rows):
    """Words, phrases with their rows, and an arrow from each child to its parent."""
    for sentence, (words, transitions) in enumerate(trees):
        color = SENTENCE_COLORS[sentence]
        children = tree_children(transitions)
        for node, (x, y) in enumerate(places[sentence]):
            if transitions[node] != REDUCE:
                plate = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
                style = {"ha": "center", "va": "center", "zorder": 4, "bbox": plate}
                axes.text(x, y, words[children[node][0]], fontsize=9, **style)
                axes.text(x, y - 0.38, rows[sentence, node], fontsize=7, color="0.35", **style)
                continue
            for child in children[node]:
                _arrow(axes, places[sentence][child], (x, y), color, shrink=9)
            axes.plot(x, y, "o", color="white", markeredgecolor=color, markeredgewidth=2, markersize=16, zorder=3)
            axes.text(x, y, rows[sentence, node], ha="center", va="center", fontsize=8, zorder=4)


def _arrow(axes, start, end, color, line="-", shrink=0):
    look = {"arrowstyle": "-|>", "color": color, "linestyle": line, "linewidth": 1.3, "mutation_scale": 9}
    axes.annotate("", xy=end, xytext=start, zorder=2, arrowprops=look | {"shrinkA": shrink, "shrinkB": shrink})


def _box(axes, low, high, color):
    size = high[0] - low[0], high[1] - low[1]
    look = {"boxstyle": "round,pad=0,rounding_size=0.2", "edgecolor": color, "linewidth": 1}
    axes.add_patch(FancyBboxPatch(low, *size, facecolor="none", zorder=1, **look))
    axes.add_patch(FancyBboxPatch(low, *size, facecolor=color, alpha=0.15, zorder=0, **look))


def _rows_of(count):
    return f"{count} row" if count == 1 else f"{count} rows"


def _products(count):
    return f"{count} product" if count == 1 else f"{count} products"
