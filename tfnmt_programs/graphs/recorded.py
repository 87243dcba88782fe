"""Computation graphs recorded while code runs: Figures 1 and 3 of Bradbury's post (2017).

Every operation that runs is a node, and reads the nodes above it. Walked from the loss upward, each node's gradient is
made from those of the nodes below: nothing is computed twice.
"""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tfnmt.classification.losses import classification_loss
from tfnmt.data.example_batches import sentence_batch
from tfnmt.data.examples import Sentence
from tfnmt.define_by_run import spinn as spinn_by_run
from tfnmt.inspection.figures import BLUE, RED, new_figure
from tfnmt.layers.feedforward import MultilayerPerceptron, pair_features
from tfnmt.text.brackets import from_brackets
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt_programs.graphs.cases import make_cases
from tfnmt_programs.graphs.pictures import KINDS, OTHERS, color_of, depths, draw_edges, places_by_depth
from tfnmt_programs.operations import Operation, parents_of_operations, recorded_operations

PREMISE = "( ( Two dogs ) ( ( are ( running ( through ( a field ) ) ) ) . ) )"
HYPOTHESIS = "( There ( ( are ( animals outdoors ) ) . ) )"
"""The first pair of the post's example, with trees in the manner of SNLI."""


FUNCTION_INPUTS = {"x": 2.0, "w": 0.5, "b": -0.25, "y": 1.0}
"""Where `function_graph` is computed."""


def function_graph() -> tuple[list[Operation], list[np.ndarray], dict[str, np.ndarray]]:
    """(tanh(w x + b) − y)² at `FUNCTION_INPUTS`, recorded while it runs.

    Returns:
        The operations, and the gradient of the last one's output by each one's output and by each input.
    """
    inputs = {name: tf.constant(number) for name, number in FUNCTION_INPUTS.items()}
    x, w, b, y = inputs.values()
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        operations = recorded_operations(lambda: tf.square(tf.tanh(w * x + b) - y))
        values = [operation.outputs[0] for operation in operations]
    by_value, by_input = tape.gradient(values[-1], (values, inputs))
    return (
        operations,
        [gradient.numpy() for gradient in by_value],
        {name: gradient.numpy() for name, gradient in by_input.items()},
    )


def draw_function_graph() -> Figure:
    """Figure 1: the function as a graph, its values on the way down and its gradients on the way back."""
    operations, gradients, by_input = function_graph()
    names = {"Mul": "w · x", "AddV2": "+ b", "Tanh": "tanh", "Sub": "− y", "Square": "( )²"}
    inputs = {"Mul": "xw", "AddV2": "b", "Sub": "y"}
    figure = new_figure(9.5, 3.2)
    axes = figure.subplots()
    for place, (operation, gradient) in enumerate(zip(operations, gradients, strict=True)):
        box = {"boxstyle": "round,pad=0.5", "facecolor": "white"}
        axes.text(place, 0, names[operation.name], ha="center", va="center", bbox=box)
        axes.text(place, 0.45, _number(operation.outputs[0]), color=BLUE, ha="center")
        axes.text(place, -0.55, _number(gradient), color=RED, ha="center")
        read = inputs.get(operation.name, "")
        for number, name in enumerate(read):
            x = place + 0.5 * (number - (len(read) - 1) / 2)
            axes.text(x, 1.25, f"{name} = {FUNCTION_INPUTS[name]:g}".replace("-", "−"), color=BLUE, ha="center")
            axes.text(x, 0.97, _number(by_input[name]), color=RED, ha="center")
        if place:
            axes.annotate("", (place - 0.3, 0.1), (place - 0.7, 0.1), arrowprops={"arrowstyle": "->", "color": BLUE})
            axes.annotate("", (place - 0.7, -0.1), (place - 0.3, -0.1), arrowprops={"arrowstyle": "->", "color": RED})
    rows = ((1.25, "input", BLUE), (0.97, "gradient", RED), (0.45, "value", BLUE), (-0.55, "gradient", RED))
    for y, meaning, color in rows:
        axes.text(-0.85, y, meaning, color=color, ha="center")
    axes.set(xlim=(-1.2, len(operations) - 0.4), ylim=(-0.7, 1.5))
    value = _number(operations[-1].outputs[0])
    axes.set_title(f"(tanh(w x + b) − y)² = {value}: forward in blue, backward in orange", fontsize=11)
    axes.axis("off")
    return figure


def _number(value):
    return f"{float(value):.4f}".replace("-", "−")


def batch_graph(units: int = 8) -> tuple[list[Operation], int]:
    """What SPINN's define-by-run form runs for the post's pair as a batch of two sentences, up to the loss.

    Returns:
        The operations forward, and how many ran for the gradient of all weights.
    """
    keras.utils.set_random_seed(1)
    encoder = make_cases()["spinn-pi"].make(units)
    head = MultilayerPerceptron(3, units)
    head.build((None, 4 * units))
    trees = [from_brackets(brackets) for brackets in (PREMISE, HYPOTHESIS)]
    tokenizer = WordTokenizer(sorted({word for words, _ in trees for word in words}))
    batch = sentence_batch([Sentence(*tree) for tree in trees], tokenizer)
    variables = [variable.value for variable in (*encoder.trainable_variables, *head.trainable_variables)]
    losses = []

    def forward():
        roots = spinn_by_run.encode(encoder, batch)["root"]
        losses.append(classification_loss(tf.constant([0]), head(pair_features(roots))))

    with tf.GradientTape() as tape:
        operations = recorded_operations(forward)
    backward = recorded_operations(lambda: tape.gradient(losses[0], variables))
    return operations, len(backward)


def section_of_a_reduce(operations: Sequence[Operation]) -> range:
    """Where the first REDUCE, and the tracker's step before it, lie among the operations of `batch_graph`.

    The tracker's step has two products; that of a REDUCE is followed by its bias, and the last that it computes is h.
    """
    names = [operation.name for operation in operations]
    bias = names.index("BiasAdd")
    products = [i for i in range(bias) if names[i] == "MatMul"]
    return range(products[-3], names.index("Tanh", names.index("Tanh", bias) + 1) + 2)


def draw_batch_graph() -> tuple[Figure, dict[str, int]]:
    """Figure 3: the computation graph of a batch of two, whole and a small section, and how many operations it has."""
    operations, backward = batch_graph()
    parents = parents_of_operations(operations)
    last = len(operations) - 1
    needed = _ancestors(parents, last)
    figure = new_figure(13, 8)
    whole, section = figure.subplots(1, 2, width_ratios=[1.25, 1])
    drawn = sorted(needed)
    _draw(whole, operations, parents, drawn)
    whole.set_title(f"all {len(drawn)} operations that lead to the loss (bottom)", fontsize=11)
    places = section_of_a_reduce(operations)
    near = [i for i in drawn if i in places]
    _draw(section, operations, parents, near, labels=True)
    section.set_title("a small section: one step of the tracker and one reduce", fontsize=11)
    figures = {"operations forward": len(operations), "that lead to the loss": len(drawn), "backward": backward}
    kinds = {_kind(operations[i]) for i in drawn}
    handles = [whole.scatter([], [], color=color_of(kind), label=kind) for kind in (*KINDS, OTHERS) if kind in kinds]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    return figure, figures


def _kind(operation):
    return next((kind for kind, names in KINDS.items() if operation.name in names), OTHERS)


def _ancestors(parents, node):
    found, waiting = {node}, [node]
    while waiting:
        for parent in parents[waiting.pop()]:
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


def _draw(
    axes: Axes, operations: Sequence[Operation], parents: list[list[int]], chosen: list[int], labels: bool = False
) -> None:
    """These operations from top to bottom, each below all that it reads."""
    among = {str(i): [str(p) for p in parents[i] if p in set(chosen)] for i in chosen}
    depth = depths(among)
    for name in sorted(among, key=depth.get, reverse=True):  # weights stand right above the first that reads them
        below = [depth[other] for other, above in among.items() if name in above]
        if not among[name] and below:
            depth[name] = min(below) - 1
    places = places_by_depth(among, depth)
    draw_edges(axes, among, places)
    for name, place in places.items():
        axes.scatter(*place, s=30 if labels else 9, color=color_of(_kind(operations[int(name)])), zorder=2)
        if labels:
            options = {"fontsize": 7, "rotation": 15, "xytext": (4, 2), "textcoords": "offset points"}
            axes.annotate(operations[int(name)].name, place, **options)
    axes.axis("off")
