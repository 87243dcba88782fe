"""Graphs recorded from code that runs: a function's values and gradients by hand, and a batch of two up to its loss."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt_programs.graphs.recorded import batch_graph, draw_function_graph, function_graph, section_of_a_reduce
from tfnmt_programs.operations import parents_of_operations, recorded_operations


def test_each_operation_reads_those_that_made_its_inputs():
    a, b = tf.constant(2.0), tf.constant(3.0)
    operations = recorded_operations(lambda: (a * b) + tf.square(a * b))
    assert [operation.name for operation in operations] == ["Mul", "Mul", "Square", "AddV2"]
    assert parents_of_operations(operations) == [[], [], [1], [0, 2]]


def test_values_and_gradients_of_a_function_by_hand():
    """(tanh(0.5 · 2 − 0.25) − 1)²: backward 1, 2d, 2d, 2d (1 − tanh²), the same; w has x times as much, x w times."""
    operations, gradients, by_input = function_graph()
    h = np.tanh(0.75)
    d = h - 1
    assert [operation.name for operation in operations] == ["Mul", "AddV2", "Tanh", "Sub", "Square"]
    assert float(operations[-1].outputs[0]) == pytest.approx(d**2, rel=1e-5)
    by_sum = 2 * d * (1 - h**2)
    np.testing.assert_allclose(gradients, [by_sum, by_sum, 2 * d, 2 * d, 1], rtol=1e-5)
    assert by_input == pytest.approx({"x": 0.5 * by_sum, "w": 2 * by_sum, "b": by_sum, "y": -2 * d}, rel=1e-5)


def test_the_picture_of_the_function_has_its_parameters_gradients():
    (axes,) = draw_function_graph().axes
    drawn = {text.get_text(): text.get_position() for text in axes.texts}
    for parameter, gradient in (("w = 0.5", "−0.8707"), ("x = 2", "−0.2177"), ("y = 1", "0.7297")):
        assert drawn[parameter][0] == drawn[gradient][0] and drawn[parameter][1] > drawn[gradient][1]
    assert [text.get_text() for text in axes.texts].count("−0.4353") == 3, "by w · x, by the sum and by b"


def test_the_graph_of_a_batch_leads_to_the_loss():
    operations, backward = batch_graph(units=3)
    parents = parents_of_operations(operations)
    assert backward > 100 and len(operations) > 100
    assert operations[-1].outputs[0].shape == () and parents[-1]
    assert all(parent < number for number, above in enumerate(parents) for parent in above)
    section = section_of_a_reduce(operations)
    rows = [operations[i].inputs[0].shape[0] for i in section if operations[i].name == "MatMul"]
    assert rows == [2, 2, 1], "the tracker's step is that of both sentences, the REDUCE that of one"
    assert parents[section[-1]], "it ends with h, computed from what is in it"
