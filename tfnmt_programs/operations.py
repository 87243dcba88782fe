"""What a function computes, operation by operation, when it runs eagerly."""

from collections.abc import Callable, Sequence

import tensorflow as tf

# TensorFlow has no public hook into the operations that run eagerly; this one is that of its own debugger.
from tensorflow.python.framework import op_callbacks


def number_of_operations(function: Callable[[], object]) -> int:
    """How many operations a function runs, loops unrolled."""
    return _sum_over_operations(function, lambda *_: 1)


def multiplications(function: Callable[[], object]) -> int:
    """How many multiplications of two numbers all its matrix products have."""
    return _sum_over_operations(function, _of_matrix_product)


def _sum_over_operations(function, count):
    total = 0

    def add(operation, inputs, attributes, outputs, name=None, graph=None):
        nonlocal total
        if graph is None:  # else it is only being traced
            total += count(operation, inputs, outputs)

    op_callbacks.add_op_callback(add)
    try:
        function()
    finally:
        op_callbacks.remove_op_callback(add)
    return total


def _of_matrix_product(operation: str | bytes, inputs: Sequence[tf.Tensor], outputs: Sequence[tf.Tensor]) -> int:
    if tf.compat.as_str(operation) not in ("MatMul", "BatchMatMul", "BatchMatMulV2"):
        return 0
    return int(tf.size(inputs[0])) * outputs[0].shape[-1]  # [..., m, k] × [..., k, n]: m · k · n
