"""What a function computes, operation by operation, when it runs eagerly."""

import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

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
    counts = []
    with _watched(lambda *operation: counts.append(count(*operation))):
        function()
    return sum(counts)


@contextlib.contextmanager
def _watched(see):
    """Within the block, `see(name, inputs, outputs)` is called after each operation that runs."""

    def callback(operation, inputs, attributes, outputs, name=None, graph=None):
        if graph is None:  # else it is only being traced
            see(tf.compat.as_str(operation), inputs, outputs)

    op_callbacks.add_op_callback(callback)
    try:
        yield
    finally:
        op_callbacks.remove_op_callback(callback)


def _of_matrix_product(name: str, inputs: Sequence[tf.Tensor], outputs: Sequence[tf.Tensor]) -> int:
    if name not in ("MatMul", "BatchMatMul", "BatchMatMulV2"):
        return 0
    return int(tf.size(inputs[0])) * outputs[0].shape[-1]  # [..., m, k] × [..., k, n]: m · k · n


class Operation(NamedTuple):
    """One operation that ran eagerly."""

    name: str
    """Its type, such as "MatMul"."""
    inputs: tuple[tf.Tensor, ...]
    outputs: tuple[tf.Tensor, ...]


def recorded_operations(function: Callable[[], object]) -> list[Operation]:
    """The operations that a function runs, in their order. The tensors are kept, so that their `id`s stay theirs."""
    found = []
    with _watched(lambda name, inputs, outputs: found.append(Operation(name, tuple(inputs), tuple(outputs)))):
        function()
    return found


def parents_of_operations(operations: Sequence[Operation]) -> list[list[int]]:
    """For each operation, the indices of those whose outputs it reads."""
    made_by: dict[int, int] = {}
    parents = []
    for number, operation in enumerate(operations):
        parents.append(sorted({made_by[id(x)] for x in operation.inputs if id(x) in made_by}))
        made_by |= {id(x): number for x in operation.outputs}
    return parents
