"""Both ways of building a model: compared, reported, drawn."""

import ast
import inspect
import re
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from tests.commands.calls import call
from tfnmt.errors import UserError
from tfnmt_programs.commands.compare_graphs import CASES as OFFERED
from tfnmt_programs.graphs import comparison as comparing
from tfnmt_programs.graphs.cases import lines_of_code, make_cases, tree_batch
from tfnmt_programs.graphs.comparison import Comparison, Point, compare, number_of_nodes
from tfnmt_programs.graphs.pictures import depths, draw_static_and_by_run, draw_times, parents_of
from tfnmt_programs.graphs.report import report
from tfnmt_programs.graphs.stack_traces import traces


def point(**changes):
    figures = {
        "batch_size": 2,
        "length": 3,
        "output_difference": 0.0,
        "gradient_difference": 0.0,
        "static_first": 1.5,
        "by_run_first": 0.25,
        "static_step": 0.001,
        "by_run_step": 0.004,
        "static_memory": 1_000_000,
        "by_run_memory": 2_500_000,
        "operations": 1234,
    }
    return Point(**figures | changes)


def comparison(*points):
    return Comparison("spinn-pi", nodes=700, model_lines=20, loop_lines=90, by_run_lines=60, points=list(points))


@pytest.mark.parametrize("is_there", [False, True])
def test_a_python_without_torch_is_told_before_anything_is_measured(is_there, tmp_path, monkeypatch):
    python, directory = tmp_path / "python", tmp_path / "graphs"
    if is_there:
        python.write_text("#!/bin/sh\nexit 1\n")
        python.chmod(0o755)
    monkeypatch.setattr(comparing, "compare", None)
    complaint = "cannot import torch" if is_there else "No such file or directory"
    with pytest.raises(UserError, match=f"^--peer-python: {python}: {complaint}; name a Python that has"):
        call("compare-graphs", "--output", directory, "--models", "encoder", "--peer-python", python)
    assert not directory.exists()


def test_the_verb_offers_every_model():
    assert tuple(make_cases()) == OFFERED


def test_both_ways_are_equal():
    found = compare(make_cases()["rl-spinn"], units=3, batch_sizes=[2], lengths=[4], repetitions=1, dtype="float64")
    assert found.equal
    assert found.nodes > 100 > found.model_lines > 0 < found.loop_lines
    (only,) = found.points
    assert only.static_first > 0 < only.by_run_step
    assert only.operations > 20


def test_both_ways_are_timed_in_turn():
    order = []

    def way(name):
        return lambda batch: order.append(name) or (batch, [batch])

    comparing._point(way("static"), way("by run"), tf.ones([1]), 1, 1, repetitions=3, first=False)
    assert order == ["static", "by run"] * 4 + ["by run"]  # what both give, three times, what operations one has


def test_what_differs_is_not_equal():
    assert comparison(point()).equal
    assert not comparison(point(), point(output_difference=1e-4)).equal
    assert not comparison(point(gradient_difference=1e-3)).equal
    by_rounding = comparison(point(gradient_difference=1e-6))
    assert by_rounding.equal and not replace(by_rounding, dtype="float64").equal


def test_nodes_of_loops_count_too():
    graph = tf.function(lambda: tf.while_loop(lambda i: i < 3, lambda i: (i + 1,), (tf.constant(0),)))
    assert number_of_nodes(graph.get_concrete_function().graph) > 6


def documented(x):
    """Not counted."""
    # Nor this.

    return x + 1


def test_lines_without_comments_are_counted():
    assert lines_of_code(documented) == 2
    assert lines_of_code(documented, documented) == 4


@pytest.mark.parametrize("name", make_cases())
def test_lines_of_a_loop_are_those_of_all_its_modules(name):
    def modules_used(module):
        code = ast.parse(inspect.getsource(module))
        names = {node.module for node in ast.walk(code) if isinstance(node, ast.ImportFrom) and node.module}
        return {each for each in names if each.startswith(("tfnmt.layers", "tfnmt.text.transitions"))}

    counted = make_cases()[name].loop_code
    of_both_ways = {f"tfnmt.layers.{each}" for each in ("int8", "invariants", "trees.tracker")}
    assert set().union(*map(modules_used, counted)) - of_both_ways <= {module.__name__ for module in counted}


def test_batches_have_trees_of_their_words():
    batch = tree_batch(4, 5, np.random.default_rng(1))
    words = tf.math.count_nonzero(batch["words"], axis=1).numpy()
    assert words[0] == 5 and set(words) <= {4, 5}
    np.testing.assert_array_equal(tf.math.count_nonzero(batch["transitions"], axis=1), 2 * words - 1)


def test_a_wrong_shape_shows_its_line_but_in_a_graph_that_runs():
    shown = {trace.way: trace for trace in traces()}
    assert [trace.shows_the_line for trace in shown.values()] == [True, True, False, True]
    assert "before anything was computed" in shown["static graph, sizes known"].when
    assert all("6" in trace.error and "3" in trace.error for trace in shown.values())
    assert not tf.config.functions_run_eagerly()


def test_the_report_has_every_figure():
    text = report([comparison(point(), point(length=6, static_first=None))], traces()[:1], units=8)
    assert "| spinn-pi | yes | 0.0e+00 | 0.0e+00 | 1.50 / 0.25 | 700 | 1,234 | 20 + 90 / 60 |" in text
    assert "| spinn-pi | 2 | 6 | 1.00 | 4.00 | – | 4.0 | – | 1.0 | 2.5 |" in text
    assert not re.search(r'File "/', text)


def test_the_report_has_a_column_of_a_peer():
    text = report([replace(comparison(point()), peer_steps=[0.003])], [], units=8)
    assert "| spinn-pi | 2 | 3 | 1.00 | 4.00 | 3.00 | 4.0 | 3.0 | 1.0 | 2.5 |" in text


def test_nodes_lie_below_what_they_read():
    graph = tf.function(lambda x: tf.tanh(x * x)).get_concrete_function(tf.TensorSpec([2])).graph
    depth = depths(parents_of(graph.as_graph_def().node))
    assert depth["x"] == 0 and depth["mul"] == 1 and depth["Tanh"] == 2


def test_figures_are_drawn(tmp_path):
    draw_static_and_by_run().savefig(tmp_path / "graphs.png", dpi=40)
    both = comparison(point(), point(length=6))
    draw_times([both]).savefig(tmp_path / "times.png", dpi=40)
    (axes,) = draw_times([replace(both, peer_steps=[0.5, 0.25])]).axes
    assert axes.lines[-1].get_label() == "PyTorch, batch 2"
    assert [list(axes.lines[-1].get_xdata()), list(axes.lines[-1].get_ydata())] == [[3, 6], [500, 250]]
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("graphs.png", "times.png"))
