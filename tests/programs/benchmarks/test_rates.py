"""Rates of this machine, and how measurements take turns."""

import threading

import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from tfnmt_programs.benchmarks import machine_rates
from tfnmt_programs.benchmarks.alternation import alternate, ratio_figures
from tfnmt_programs.benchmarks.machine_rates import matrix_rate, memory_rate


def test_sides_take_turns_at_going_first():
    calls = []

    def side(name, values):
        return lambda: calls.append(name) or next(values)

    measurements = {"ours": side("ours", iter([30.0, 20.0, 60.0])), "peer": side("peer", iter([10.0, 10.0, 15.0]))}
    rates = alternate(measurements, rounds=3)
    assert calls == ["ours", "peer", "peer", "ours", "ours", "peer"]
    assert rates == {"ours": [30.0, 20.0, 60.0], "peer": [10.0, 10.0, 15.0]}
    figures = ratio_figures(**rates)
    assert figures == {"ours": 30.0, "peer": 10.0, "ratio": 3.0, "ratio_min": 2.0, "ratio_max": 4.0}


@pytest.fixture
def two_repetitions_in_a_quarter_of_a_second(monkeypatch):
    monkeypatch.setattr(machine_rates, "seconds_of", lambda call: call() is None or 0.25)


@pytest.mark.usefixtures("two_repetitions_in_a_quarter_of_a_second")
def test_matrix_rate_of_any_shape():
    for rows, inner, columns in ((3, 4, 8), (4, 4, 4)):
        operations = 8 * 2 * rows * inner * columns
        assert matrix_rate(rows, inner, columns, seconds=0.5) == pytest.approx(1e-9 * operations)


@pytest.mark.usefixtures("two_repetitions_in_a_quarter_of_a_second")
def test_memory_rate():
    assert memory_rate(megabytes=1, seconds=0.5) == pytest.approx(8e-3)


def test_rates_of_several_threads_add_up():
    together = threading.Barrier(3)  # none comes back before all are there
    assert machine_rates.rate_of_several(3, lambda: together.wait(60) and 2.0 or 2.0) == 6.0


def test_two_threads_may_measure_the_memory_at_once():
    """Where a graph holds as much as is read here, TensorFlow makes a variable of a sum of three numbers, by the name
    of the operation: the second thread to make one fails."""
    context.context().enable_graph_collection()
    try:
        machine_rates._sums(tf.zeros([64_000_000]), tf.constant(2))
        graphs = [graph.post_optimization_graph for graph in context.context().export_run_metadata().function_graphs]
    finally:
        context.context().disable_graph_collection()
    parts = [part for graph in graphs for part in (graph.node, *(each.node_def for each in graph.library.function))]
    operations = {node.op for part in parts for node in part}
    assert "Sum" in operations and "TemporaryVariable" not in operations
