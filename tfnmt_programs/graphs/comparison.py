"""The same model as a static graph and define-by-run: equal, and at what cost."""

import contextlib
import ctypes
import logging
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from tfnmt_programs.graphs.cases import Case, lines_of_code
from tfnmt_programs.measuring import memory_growth, reset_peak_memory, resident_memory, seconds_of
from tfnmt_programs.operations import number_of_operations

logger = logging.getLogger(__name__)

TOLERANCES = {"float32": (1e-5, 1e-4), "float64": (1e-10, 1e-10)}
"""By how much outputs and gradients may differ. Gradients are sums of many numbers of both signs: in float32 the order
in which they are added up shows in the fifth digit."""


@dataclass(frozen=True)
class Point:
    """What was found with batches of one size. Times in seconds, memory in bytes."""

    batch_size: int
    length: int
    output_difference: float
    """The largest, of any number."""
    gradient_difference: float
    """The norm of the difference over the norm, the largest of any weight."""
    static_first: float | None
    """To the first result, tracing included; of the first batch alone."""
    by_run_first: float | None
    static_step: float
    by_run_step: float
    static_memory: int
    """By how much the process grew, at most, in a step."""
    by_run_memory: int
    operations: int
    """That were run one after the other from Python, define-by-run; the static graph's is one call."""


@dataclass(frozen=True)
class Comparison:
    """One case. Lines are without comments and docstrings."""

    name: str
    nodes: int
    """Of the static graph, those in functions that it calls included; it is the same for all batches."""
    model_lines: int
    """Of the static graph, the model's own."""
    loop_lines: int
    """Of the static graph, those of the loop, which are shared by models."""
    by_run_lines: int
    points: list[Point]
    dtype: str = "float32"
    peer_steps: list[float] | None = None
    """Seconds of a step in PyTorch at each point, where that was measured."""

    @property
    def equal(self) -> bool:
        """Whether outputs and gradients are the same within rounding."""
        of_outputs, of_gradients = TOLERANCES[self.dtype]
        return all(
            point.output_difference <= of_outputs and point.gradient_difference <= of_gradients for point in self.points
        )


def compare(
    case: Case,
    units: int,
    batch_sizes: Sequence[int],
    lengths: Sequence[int],
    repetitions: int,
    seed: int = 1,
    torch: tuple[str | Path, int] | None = None,
    dtype: str = "float32",
) -> Comparison:
    """Compare both ways over batches of all those sizes and lengths; the first step of all comes first.

    Args:
        units: size of the model's states.
        repetitions: steps of each way, in turn, of which the median time counts.
        torch: (path of a Python that has torch, threads that it is to use), or None for no third column.
        dtype: "float32", or "float64", where what is left of a difference is no rounding of float32.
    """
    keras.utils.set_random_seed(seed)
    with _dtype_policy(dtype):
        layer = case.make(units)
    random = np.random.default_rng(seed)
    by_run = case.step(case.by_run, layer)
    static = case.in_graph(layer, case.make_batch(1, 1, random))
    points, batches = [], []
    for batch_size in batch_sizes:
        for length in lengths:
            batch = case.make_batch(batch_size, length, random)
            batches.append({name: ids.numpy() for name, ids in batch.items()})
            points.append(_point(static, by_run, batch, batch_size, length, repetitions, first=not points))
            point = points[-1]
            figures = batch_size, length, 1000 * point.static_step, 1000 * point.by_run_step
            logger.info("%s, %d × %d words: static %.1f ms, by run %.1f ms", case.name, *figures)
    peer_steps = None
    if torch:
        python, threads = torch
        settings = case.torch_settings(units) | {"threads": threads}
        peer_steps = case.steps_in_torch(python, settings, batches, repetitions)
    return Comparison(
        case.name,
        number_of_nodes(static.get_concrete_function().graph),
        lines_of_code(*case.model_code),
        lines_of_code(*case.loop_code),
        lines_of_code(*case.by_run_code),
        points,
        dtype,
        peer_steps,
    )


def _point(static, by_run, batch, batch_size, length, repetitions, first):
    (found, found_gradients), static_first, static_memory = _observed(lambda: static(batch))
    (expected, expected_gradients), by_run_first, by_run_memory = _observed(lambda: by_run(batch))
    if first:  # memory of the first step is TensorFlow's waking up, and tracing
        _, _, static_memory = _observed(lambda: static(batch))
        _, _, by_run_memory = _observed(lambda: by_run(batch))
    both = [(seconds_of(lambda: static(batch)), seconds_of(lambda: by_run(batch))) for _ in range(repetitions)]
    static_step, by_run_step = map(statistics.median, zip(*both, strict=True))
    return Point(
        batch_size,
        length,
        max(float(tf.reduce_max(tf.abs(x - y))) for x, y in zip(found, expected, strict=True)),
        max(_relative_difference(x, y) for x, y in zip(found_gradients, expected_gradients, strict=True)),
        static_first if first else None,
        by_run_first if first else None,
        static_step,
        by_run_step,
        static_memory,
        by_run_memory,
        number_of_operations(lambda: by_run(batch)),
    )


def number_of_nodes(graph: tf.Graph) -> int:
    """Of a traced function's graph, and of the functions in it: bodies of loops, gradients."""
    definition = graph.as_graph_def()
    return len(definition.node) + sum(len(function.node_def) for function in definition.library.function)


def _observed(function):
    """(The function's result, the seconds it took, by how much the process grew while it ran.)"""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)  # memory that is only kept for later would hide what is needed now
    reset_peak_memory()
    before, results = resident_memory(), []
    seconds = seconds_of(lambda: results.append(function()) or results)
    return results[0], seconds, memory_growth(before)


def _relative_difference(x, y):
    x, y = tf.convert_to_tensor(x), tf.convert_to_tensor(y)
    return float(tf.math.divide_no_nan(tf.norm(x - y), tf.norm(y)))


@contextlib.contextmanager
def _dtype_policy(name: str) -> Iterator[None]:
    """Layers made within it compute as Keras's dtype policy of that name says."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
