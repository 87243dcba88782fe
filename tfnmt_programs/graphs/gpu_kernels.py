"""What a traced graph would do on a GPU, by TensorFlow's registry of kernels, which lists those for GPUs everywhere.

Three things are looked for, in the whole graph with all functions that it calls:

- operations without a GPU kernel for their types: they run on the CPU, and their tensors are copied to and fro. Those
  of strings are counted apart, since no GPU has any;
- operations whose result's size depends on values, such as `tf.where(x)`: the host must wait until the GPU knows it;
- tensors in the GPU's memory that the host reads, because an operation has an argument there (shapes, axes, nearly
  everything of int32) or a loop or branch decides by them: the host waits for these, too.

A loop makes the last two as often as it has iterations, so everything is counted apart in loops and outside.
"""

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import tensorflow as tf

# TensorFlow has no public names for its registries of operations and kernels.
from tensorflow.python.framework import kernels, op_def_registry

SIZED_BY_VALUES = frozenset({"Where", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff"})
"""Operations with a GPU kernel whose result has as many rows as values say."""

IN_HOST_MEMORY = (tf.int32, tf.string, tf.resource)
"""What a function takes and returns in the host's memory, by type; a loop its variables, a branch its results."""

TABLES = ("HashTableV2", "MutableHashTableV2", "LookupTableFindV2", "LookupTableSizeV2", "LookupTableImportV2")
"""Operations of tables, which are on the CPU, of strings or not."""

LOOPS = ("While", "StatelessWhile")
BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")


@dataclass(frozen=True, order=True)
class Found:
    """One kind of thing that was found, in loops or outside."""

    in_loop: bool
    what: str
    """An operation with its types, or two between which a tensor is copied."""


@dataclass
class Report:
    """What was found in a graph: how often each."""

    operations: int = 0
    without_kernel: Counter[Found] = field(default_factory=Counter)
    """But for those of strings and tables."""
    of_strings: Counter[Found] = field(default_factory=Counter)
    """Without a kernel too."""
    sized_by_values: Counter[Found] = field(default_factory=Counter)
    copied_to_host: Counter[Found] = field(default_factory=Counter)


def examine(function: Any) -> Report:
    """Walk a traced graph.

    Args:
        function: a `ConcreteFunction`. What its results do not need is left out, as TensorFlow leaves it out.
    """
    library = function.graph.as_graph_def().library.function
    functions = {definition.signature.name: definition for definition in library}
    report = Report()
    _Body(functions, report, function.function_def, in_loop=False).walk()
    return report


def gpu_kernel(node: Any) -> Any | None:
    """The `KernelDef` by which a GPU would run a `NodeDef`; None if there is none for its types."""
    chosen = _chosen_kernels(node.op)
    values = tuple(node.attr[name].SerializeToString() for name in _constrained_attributes(node.op))
    if values not in chosen:
        chosen[values] = next((kernel for kernel in _gpu_kernels(node.op) if _fits(kernel, node.attr)), None)
    return chosen[values]


@functools.cache
def _chosen_kernels(operation):
    """What `gpu_kernel` has found for an operation: the kernel by the values of its attributes."""
    return {}


@functools.cache
def _constrained_attributes(operation):
    """The names of the attributes by whose values its kernels differ."""
    return sorted({constraint.name for kernel in _gpu_kernels(operation) for constraint in kernel.constraint})


@functools.cache
def _gpu_kernels(operation):
    """Those for GPUs, then those for any device, of which a GPU takes the ones that it has none of its own for."""
    registered = [kernel for kernel in kernels.get_registered_kernels_for_op(operation).kernel if not kernel.label]
    return [kernel for device in ("GPU", "DEFAULT") for kernel in registered if kernel.device_type == device]


def _fits(kernel, attributes):
    """Whether a kernel is for all types, and values, of a node's attributes."""
    for constraint in kernel.constraint:
        value, allowed = attributes[constraint.name], constraint.allowed_values.list
        if allowed.s and value.s not in allowed.s:
            return False
        if allowed.type and not set(value.list.type or [value.type]) <= set(allowed.type):
            return False
    return True


class _Tensor(NamedTuple):
    """What a node takes or returns."""

    argument: str
    dtype: tf.DType
    on_host: bool
    """Whether it is in the host's memory."""


class _Body:
    """One function's body, in the place where it is called."""

    def __init__(self, functions, report, definition, in_loop):
        self.functions, self.report, self.definition, self.in_loop = functions, report, definition, in_loop
        self.nodes = {node.name: node for node in definition.node_def}
        self.arguments = {argument.name: argument for argument in definition.signature.input_arg}
        self.copied = set()
        self.tensors = functools.cache(self._tensors_of)  # a node's are asked for by each that reads them

    def walk(self, decides: bool = False) -> None:
        """Add all that is found; `decides`: the result is whether a loop goes on, which the host reads."""
        needed = self._needed()
        for node in needed:
            self._examine(node)
        for result in self.definition.signature.output_arg:
            if decides or result.type in IN_HOST_MEMORY:
                self._read_by_host(self.definition.ret[result.name], "condition of a loop" if decides else "result")

    def _needed(self):
        """The nodes that results and side effects need."""
        results = {**self.definition.control_ret, **self.definition.ret}
        pending = [results[name] for name in sorted(results)]  # always in the same order
        found = {}
        while pending:
            name = pending.pop().lstrip("^").split(":")[0]
            if name not in found and name in self.nodes:
                found[name] = self.nodes[name]
                pending += self.nodes[name].input
        return found.values()

    def _examine(self, node):
        self.report.operations += 1
        called = list(_called(node, self.functions))
        if not called and not _is_on_cpu(node) and gpu_kernel(node) is None:
            tensors = self.tensors(node.name, "input_arg") + self.tensors(node.name, "output_arg")
            is_text = node.op in TABLES or any(tensor.dtype == tf.string for tensor in tensors)
            counter = self.report.of_strings if is_text else self.report.without_kernel
            counter[self._found(_with_types(node))] += 1
        for role, name in called:
            in_loop = self.in_loop or node.op in LOOPS
            body = _Body(self.functions, self.report, self.functions[name], in_loop)
            body.walk(decides=node.op in LOOPS and role == "cond")
        inputs = [name for name in node.input if not name.startswith("^")]
        tensors = self.tensors(node.name, "input_arg")
        if node.op in SIZED_BY_VALUES and not tensors[0].on_host:
            self.report.sized_by_values[self._found(_with_types(node))] += 1
        for name, tensor in zip(inputs, tensors, strict=True):
            if tensor.on_host:
                self._read_by_host(name, node.op)

    def _read_by_host(self, tensor, reader):
        """Count a tensor that is copied from the GPU's memory; once, however many read it."""
        name, *output = tensor.split(":")
        if name in self.arguments:
            return  # its caller has counted it
        node, (argument, index) = self.nodes[name], output
        if node.op == "Identity":  # TensorFlow removes it
            self._read_by_host(node.input[0], reader)
            return
        of_argument = [result for result in self.tensors(name, "output_arg") if result.argument == argument]
        if node.op == "Const" or of_argument[int(index)].on_host or tensor in self.copied:
            return
        self.copied.add(tensor)
        self.report.copied_to_host[self._found(f"{_with_types(node)} → {reader}")] += 1

    def _tensors_of(self, name, side):
        """Every tensor that a node takes (`side` is "input_arg") or returns ("output_arg")."""
        node = self.nodes[name]
        is_function = node.op in self.functions
        definition = self.functions[node.op].signature if is_function else op_def_registry.get(node.op)
        expanded = _expanded(getattr(definition, side), node)
        if next(_called(node, self.functions), None):
            decides = node.op in BRANCHES and side == "input_arg"
            return [_Tensor(a, t, t in IN_HOST_MEMORY or (decides and i == 0)) for i, (a, t) in enumerate(expanded)]
        kernel = None if _is_on_cpu(node) else gpu_kernel(node)
        return [
            _Tensor(a, t, t in (tf.string, tf.resource) or kernel is None or a in kernel.host_memory_arg)
            for a, t in expanded
        ]

    def _found(self, what):
        return Found(self.in_loop, what)


def _is_on_cpu(node):
    """Whether the graph asks for the CPU."""
    return "CPU" in node.device.upper()


def _called(node: Any, functions: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(attribute, name) of every function that a node calls."""
    if node.op in functions:
        yield "", node.op
    for name, value in sorted(node.attr.items()):
        for function in [value.func, *value.list.func]:
            if function.name in functions:
                yield name, function.name


def _expanded(arguments, node):
    """(name, type) of every tensor among the arguments of an operation, of which one may be a list of tensors."""
    found = []
    for argument in arguments:
        if argument.type_list_attr:
            types = node.attr[argument.type_list_attr].list.type
        else:
            count = node.attr[argument.number_attr].i if argument.number_attr else 1
            types = [argument.type or node.attr[argument.type_attr].type] * count
        found += [(argument.name, tf.as_dtype(dtype)) for dtype in types]
    return found


def _with_types(node):
    """An operation with its types: "AddV2 of int32"."""
    types = {name: [value.type] if value.type else value.list.type for name, value in sorted(node.attr.items())}
    names = dict.fromkeys(tf.as_dtype(t).name for each in types.values() for t in each)
    return f"{node.op} of {', '.join(names)}" if names else node.op
