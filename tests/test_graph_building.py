"""TensorFlow makes operations in its faster way once `tfnmt` is imported, and the graphs are the same."""

import tensorflow as tf
from tensorflow.core.config import flags

import tfnmt  # noqa: F401
from tests.layers.test_recurrence import case, results_and_gradients
from tfnmt.layers.recurrence import recur

FASTER = flags.config().graph_building_optimization


def test_it_is_on():
    assert FASTER.value()


def operations():
    """Those of a loop and its gradient, as text: names, types, inputs, and attributes that have no running number."""
    specifications = {name: tf.TensorSpec(x.shape, x.dtype) for name, x in case().items()}
    function = tf.function(lambda values: results_and_gradients(recur, values, None, False), autograph=False)
    graph = function.get_concrete_function(specifications).graph.as_graph_def()
    for nodes in (graph.node, *(each.node_def for each in graph.library.function)):
        for node in nodes:
            attributes = {
                name: value.SerializeToString(deterministic=True)
                for name, value in node.attr.items()
                if not value.func.name and name != "_gradient_op_type"
            }
            yield str((node.name, node.op, list(node.input), sorted(attributes.items())))


def test_graphs_are_the_same():
    faster = sorted(operations())
    FASTER.reset(False)
    try:
        slower = sorted(operations())
    finally:
        FASTER.reset(True)
    assert len(faster) > 100 and faster == slower
