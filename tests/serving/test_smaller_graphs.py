"""Graphs that are smaller, and compute the same."""

import tensorflow as tf

from tfnmt.serving.smaller_graphs import make_graphs_smaller, merge_constants


def test_constants_are_merged():
    @tf.function(autograph=False)
    def function(x):
        with tf.control_dependencies([tf.constant(3.0, name="waited_for")]):
            x = tf.identity(x)
        return (x + tf.constant(3.0)) * tf.constant(3.0), tf.constant(3.0), tf.constant(4.0), tf.constant(3)

    definition = function.get_concrete_function(tf.TensorSpec([], tf.float32)).function_def
    before = [node.name for node in definition.node_def if node.op == "Const"]
    merge_constants(definition)
    after = [node.name for node in definition.node_def if node.op == "Const"]
    assert len(before) == 6 and set(after) < set(before)
    # 3.0, for all that read it; the one that is waited for; 4.0; and 3.
    values = sorted(tf.make_ndarray(node.attr["value"].tensor) for node in definition.node_def if node.op == "Const")
    assert values == [3, 3, 3, 4]
    (total,) = (node for node in definition.node_def if node.op == "AddV2")
    (product,) = (node for node in definition.node_def if node.op == "Mul")
    assert total.input[1] == product.input[1]


def test_constants_of_another_device_stay_there():
    @tf.function(autograph=False)
    def function(x):
        with tf.device("CPU:0"):
            x = x + tf.constant(3.0)
        return x * tf.constant(3.0)

    definition = function.get_concrete_function(tf.TensorSpec([], tf.float32)).function_def
    merge_constants(definition)
    devices = [node.device for node in definition.node_def if node.op == "Const"]
    assert len(devices) == 2 and sorted(map(bool, devices)) == [False, True]


def test_the_same_is_computed_in_loops(tmp_path):
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)], autograph=False)
    def function(x):
        def body(i, x):
            return i + tf.constant(1), tf.where(x > tf.constant(9), x - tf.constant(1), x + tf.constant(2))

        return tf.while_loop(lambda i, _: i < tf.constant(9), body, (tf.constant(0), x))[1] + tf.constant(2)

    module.function = function
    tf.saved_model.save(module, tmp_path)
    size = (tmp_path / "saved_model.pb").stat().st_size
    make_graphs_smaller(tmp_path)
    assert (tmp_path / "saved_model.pb").stat().st_size < size
    loaded = tf.saved_model.load(tmp_path)
    assert [int(loaded.function(x)) for x in range(12)] == [int(function(x)) for x in range(12)]
