"""A traced graph as a picture, beside the tree of calls that define-by-run makes of one sentence."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import tensorflow as tf
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tensorflow.core.framework import types_pb2

from tfnmt.data.example_batches import sentence_batch
from tfnmt.data.examples import Sentence
from tfnmt.inspection.figures import BLACK, BLUE, GREEN, ORANGE, RED, new_figure
from tfnmt.inspection.trees import EXAMPLE, tree_children, tree_positions
from tfnmt.text.brackets import REDUCE, from_brackets
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt_programs.graphs.cases import make_cases
from tfnmt_programs.graphs.comparison import Comparison

KINDS = {
    "loop": ("While", "StatelessWhile"),
    "product": ("MatMul",),
    "gates": ("Tanh", "Sigmoid", "Mul", "AddV2", "BiasAdd", "Sub"),
    "rows read and written": ("GatherV2", "GatherNd", "ScatterNd", "InplaceUpdate", "Empty", "TensorListSetItem"),
    "arguments and weights": ("Placeholder", "ReadVariableOp"),
}
OTHERS = "all else"


def draw_static_and_by_run() -> Figure:
    """A figure: SPINN-PI-NT over the post's sentence, as the graph traced, its loop's body, and as a tree of calls."""
    words, transitions = from_brackets(EXAMPLE)
    case = make_cases()["spinn-pi-nt"]
    encoder = case.make(8)
    batch = sentence_batch([Sentence(words, transitions)], WordTokenizer(sorted(set(words))))
    signature = {name: tf.TensorSpec([None, None], tf.int32) for name in batch}
    traced = tf.function(lambda batch: encoder(batch)["root"], input_signature=[signature], autograph=False)
    graph = traced.get_concrete_function().graph
    figure = new_figure(14, 7)
    whole, body, calls = figure.subplots(1, 3, width_ratios=(5, 3, 4))
    definition = graph.as_graph_def()
    _draw_graph(whole, definition.node, "static: traced once, for all sentences")
    bodies = [f for f in definition.library.function if any(node.op == "MatMul" for node in f.node_def)]
    body_nodes = next(f.node_def for f in bodies if "body" in f.signature.name)
    _draw_graph(body, body_nodes, "static: the body of its loop,\nrun once for each level of the trees", labels=True)
    _draw_calls(calls, words, transitions)
    calls.set_title("define-by-run: the calls for this sentence,\nmade anew for every one")
    handles = [matplotlib.lines.Line2D([], [], marker="o", linestyle="", color=color_of(kind)) for kind in _kinds()]
    figure.legend(handles, _kinds(), loc="outside lower center", ncols=len(handles), frameon=False)
    return figure


def _draw_graph(axes, nodes, title, labels=False):
    """Nodes from top to bottom, each below all that it reads. Constants are counted, but not drawn."""
    title = f"{title}\n{len(nodes)} nodes"
    nodes = [node for node in nodes if node.op != "Const"]
    parents = parents_of(nodes)
    depth = depths(parents)
    places = places_by_depth(parents, depth)
    draw_edges(axes, parents, places)
    for node in nodes:
        x, y = places[node.name]
        kind = _kind(node)
        axes.scatter(x, y, s=80 if kind == "loop" else 14, color=color_of(kind), zorder=2)
        if labels and kind in ("product", "gates", "rows read and written"):
            axes.annotate(node.op, (x, y), fontsize=6, rotation=20, xytext=(3, 2), textcoords="offset points")
    axes.set_title(title)
    axes.axis("off")


def places_by_depth(parents: Mapping[str, Sequence[str]], depth: Mapping[str, int]) -> dict[str, tuple[float, int]]:
    """{name: its x and y}: a row for each depth, each name near the mean of what it reads, so that lines are short."""
    rows, places = {}, {}
    for name in parents:
        rows.setdefault(depth[name], []).append(name)
    for level in sorted(rows):
        wanted = {name: np.mean([places[p][0] for p in parents[name]] or [0]) for name in rows[level]}
        for i, name in enumerate(sorted(rows[level], key=wanted.get)):
            places[name] = (i - (len(rows[level]) - 1) / 2, -level)
    return places


def draw_edges(axes: Axes, parents: Mapping[str, Sequence[str]], places: Mapping[str, tuple[float, int]]) -> None:
    """A line from each name to all that it reads."""
    for name, above in parents.items():
        for other in above:
            axes.plot(*zip(places[name], places[other], strict=True), color="0.8", linewidth=0.5, zorder=1)


def parents_of(nodes: Sequence[tf.compat.v1.NodeDef]) -> dict[str, list[str]]:
    """{name: names of the nodes among these that it reads}."""
    names = {node.name for node in nodes}
    read = {node.name: [source.lstrip("^").split(":")[0] for source in node.input] for node in nodes}
    return {name: [source for source in sources if source in names] for name, sources in read.items()}


def depths(parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """{name: the length of the longest path to it}, of a graph without cycles."""
    depth = {}
    waiting = list(parents)
    while waiting:
        name = waiting.pop()
        missing = [parent for parent in parents[name] if parent not in depth]
        if missing:
            waiting += [name, *missing]
        else:
            depth[name] = 1 + max((depth[parent] for parent in parents[name]), default=-1)
    return depth


def _draw_calls(axes, words, transitions):
    """Calls of reduce above the calls or words that are their arguments."""
    places = tree_positions(transitions)
    for transition, children, (x, y) in zip(transitions, tree_children(transitions), places, strict=True):
        is_call = transition == REDUCE
        for child in children if is_call else ():
            axes.plot(*zip((x, y), places[child], strict=True), color="0.6", linewidth=1, zorder=1)
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.6"}
        axes.text(x, y, "reduce" if is_call else words[children[0]], ha="center", va="center", fontsize=8, bbox=box)
    axes.set(xlim=(-0.7, len(words) - 0.3), ylim=(-0.7, places[-1][1] + 0.7))
    axes.axis("off")


def draw_times(comparisons: Sequence[Comparison]) -> Figure:
    """A figure: the time of a step by length, a panel for each comparison, for the smallest and largest batches; in
    PyTorch too, where that was measured.
    """
    columns = min(3, len(comparisons))
    rows = -(-len(comparisons) // columns)
    figure = new_figure(4.2 * columns, 3.2 * rows)
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes, comparison in zip(panels.flat, comparisons, strict=False):
        sizes = sorted({point.batch_size for point in comparison.points})
        for batch_size in dict.fromkeys((sizes[0], sizes[-1])):
            of_size = [i for i, point in enumerate(comparison.points) if point.batch_size == batch_size]
            lengths = [comparison.points[i].length for i in of_size]
            line = "-" if batch_size == sizes[-1] else ":"
            for way, (steps, color) in _steps(comparison).items():
                milliseconds = [1000 * steps[i] for i in of_size]
                axes.plot(lengths, milliseconds, line, marker="o", color=color, label=f"{way}, batch {batch_size}")
        axes.set(title=comparison.name, xlabel="words", ylabel="ms a step", yscale="log")
        axes.grid(alpha=0.3)
    for axes in panels.flat[len(comparisons) :]:
        axes.axis("off")
    lines, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=2, fontsize=8)
    return figure


def _steps(comparison):
    """{way of building the model: (seconds of a step at each point, a color)}."""
    ways = {
        "static": ([point.static_step for point in comparison.points], BLACK),
        "by run": ([point.by_run_step for point in comparison.points], ORANGE),
    }
    return ways | {"PyTorch": (comparison.peer_steps, BLUE)} if comparison.peer_steps else ways


def _kind(node):
    kind = next((kind for kind, operations in KINDS.items() if node.op in operations), OTHERS)
    counts = kind == "gates" and node.attr["T"].type not in (types_pb2.DT_FLOAT, types_pb2.DT_DOUBLE)
    return OTHERS if counts else kind


def _kinds():
    return [*KINDS, OTHERS]


def color_of(kind: str) -> str:
    """The colour of a kind of operation, one of `KINDS` or `OTHERS`."""
    return "0.75" if kind == OTHERS else (BLACK, BLUE, ORANGE, RED, GREEN)[list(KINDS).index(kind)]
