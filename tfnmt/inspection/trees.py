"""Binary trees drawn from transitions, side by side; shift-reduce parsing as a strip of stacks and buffers."""

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import groupby

import tensorflow as tf
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, ORANGE, new_figure, plain_text
from tfnmt.text.brackets import REDUCE, SHIFT
from tfnmt.text.transitions import child_pointers

EXAMPLE = "( ( The church ) ( ( has ( cracks ( in ( the ceiling ) ) ) ) . ) )"
"""The sentence of Bradbury's post on SPINN (2017)."""


def tree_children(transitions: Sequence[int]) -> list[tuple[int, int]]:
    """(left, right) of every node of one tree; of a leaf, twice the position of its word."""
    left, right = child_pointers(tf.constant([transitions]))
    return list(zip(left[0].numpy().tolist(), right[0].numpy().tolist(), strict=True))


def tree_heights(transitions: Sequence[int]) -> list[int]:
    """The height of every node of one tree: 0 for leaves, 1 + that of the higher child for parents."""
    heights = []
    for transition, (left, right) in zip(transitions, tree_children(transitions), strict=True):
        heights.append(0 if transition == SHIFT else 1 + max(heights[left], heights[right]))
    return heights


def tree_positions(transitions: Sequence[int]) -> list[tuple[float, int]]:
    """The place (x, y) of the node that each transition makes: leaves at x = 0, 1, 2 … and y = 0, parents centred over
    their children, at their height.
    """
    x = []
    for transition, (left, right) in zip(transitions, tree_children(transitions), strict=True):
        x.append(float(left) if transition == SHIFT else (x[left] + x[right]) / 2)
    return list(zip(x, tree_heights(transitions), strict=True))


@plain_text()
def draw_trees(trees: Mapping[str, tuple[Sequence[str], Sequence[int]]]) -> Figure:
    """A figure of trees side by side.

    Args:
        trees: {title: (words, transitions)}, see `tfnmt.text.brackets`.
    """
    widths = [
        max(2, 0.095 * len(title) + 0.2, sum(0.11 * max(4, len(word)) + 0.12 for word in words))
        for title, (words, _) in trees.items()
    ]
    highest = max(max(tree_heights(transitions)) for _, transitions in trees.values())
    figure = new_figure(sum(widths) + 0.4, 0.45 * highest + 1.2)
    panels = figure.subplots(1, len(trees), squeeze=False, width_ratios=widths)[0]
    for axes, (title, (words, transitions)) in zip(panels, trees.items(), strict=True):
        _draw_tree(axes, words, transitions)
        axes.set(xlim=(-0.6, len(words) - 0.4), ylim=(-0.9, highest + 0.4))
        axes.set_title(title, fontsize=11)
        axes.axis("off")
    return figure


def _draw_tree(axes, words, transitions):
    places = tree_positions(transitions)
    for transition, children, (x, y) in zip(transitions, tree_children(transitions), places, strict=True):
        if transition == SHIFT:
            axes.text(x, -0.15, words[children[0]], ha="center", va="top", fontsize=10)
            continue
        for child in children:
            axes.plot([x, places[child][0]], [y, places[child][1]], color=BLUE, linewidth=1.5)
        axes.plot(x, y, "o", color=BLUE, markersize=5)


def shift_reduce_steps(words: Sequence[str], transitions: Sequence[int]) -> list[tuple[str, list[str], list[str]]]:
    """The steps of a shift-reduce parse; equal transitions in a row are one step.

    Returns:
        A list of (action, stack, buffer): ("begin", [], words) first, then for example ("SHIFT × 2",
        ["The", "church"], ["has", ...]), and last ("pop", [], []), which gives the root as the result. A phrase on the
        stack is written in brackets.
    """
    stack, buffer = [], list(words)
    steps = [("begin", [], list(words))]
    for transition, run in groupby(transition for transition in transitions if transition in (SHIFT, REDUCE)):
        count = len(list(run))
        for _ in range(count):
            if transition == SHIFT:
                stack.append(buffer.pop(0))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(f"({left} {right})")
        name = "SHIFT" if transition == SHIFT else "REDUCE"
        steps.append((name if count == 1 else f"{name} × {count}", list(stack), list(buffer)))
    return [*steps, ("pop", [], [])]


@plain_text()
def draw_shift_reduce(words: Sequence[str], transitions: Sequence[int]) -> Figure:
    """A figure with a row for each step: the stack at the left, the buffer at the right."""
    steps = shift_reduce_steps(words, transitions)
    stack_width = max(2.6, *(sum(_width(entry) + 0.1 for entry in stack) for _, stack, _ in steps))  # for the heading
    buffer_width = max(2.4, sum(_width(word) + 0.1 for word in words))
    figure = new_figure(stack_width + buffer_width + 2.5, 0.5 * len(steps) + 0.7)
    axes = figure.add_subplot(xlim=(-1.7, stack_width + buffer_width + 0.6), ylim=(len(steps) - 0.4, -1.1))
    axes.axis("off")
    for row, (action, stack, buffer) in enumerate(steps):
        axes.text(-1.65, row, f"{row + 1}. {action}", va="center", fontsize=10)
        _boxes(axes, 0, row, stack, BLUE)
        _boxes(axes, stack_width + buffer_width + 0.5 - sum(_width(word) + 0.1 for word in buffer), row, buffer, ORANGE)
    axes.text(0, len(steps) - 1, "the root is the encoding of the sentence", va="center", fontsize=10, style="italic")
    axes.text(0, -0.75, "stack (its top at the right)", color=BLUE, fontsize=10, weight="bold", family="DejaVu Sans")
    axes.text(
        stack_width + buffer_width + 0.4,
        -0.75,
        "buffer (its front at the left)",
        color="#9a6a00",
        ha="right",
        weight="bold",
        family="DejaVu Sans",  # other fonts may have no bold letters, of which Matplotlib would warn
    )
    return figure


def _width(text):
    """The approximate width of an entry in inches."""
    return 0.16 + sum(map(_letter_width, text))


def _letter_width(letter):
    if letter in "MWmw@%" or unicodedata.east_asian_width(letter) in "WF":  # wide, or of full width
        return 0.125
    return 0.05 if letter in " .,()ilt" else 0.085


def _boxes(axes, x, row, entries, color):
    for entry in entries:
        box = {"boxstyle": "square,pad=0.25", "facecolor": color, "alpha": 0.25, "edgecolor": color}
        axes.text(x + 0.06, row, entry, va="center", fontsize=9, bbox=box)
        x += _width(entry) + 0.1
