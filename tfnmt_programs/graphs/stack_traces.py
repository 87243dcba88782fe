"""What one sees when a shape is wrong inside a loop: define-by-run, while a graph is traced, and while it runs."""

import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import tensorflow as tf

from tfnmt.layers.invariants import invariants_for_one_step
from tfnmt.layers.recurrence import recur

TIME, BATCH, UNITS = 4, 2, 3
MISTAKE = "tf.concat([h, h], axis=1)"


@dataclass(frozen=True)
class Trace:
    """An error as it was shown."""

    way: str
    when: str
    """At what time it was raised."""
    error: str
    """Its type, and the line of its message that names the sizes."""
    frames: int
    """Of the Python traceback."""
    shows_the_line: bool
    """Whether the faulty line of the step is in the traceback or in the message."""
    text: str


def faulty_step(inputs, states, invariants):
    """h' = tanh(s + [h; h] U), where U has rows for one h."""
    (s,), (h,) = inputs, states
    h = tf.tanh(s + invariants.matmul("U", tf.concat([h, h], axis=1)))
    return (h,), (h,)


def by_run(inputs: tf.Tensor, h: tf.Tensor, U: tf.Tensor) -> tf.Tensor:
    """The loop in Python."""
    for s in tf.unstack(inputs):
        _, (h,) = faulty_step((s,), (h,), invariants_for_one_step({"U": U}, {}))
    return h


def static(inputs: tf.Tensor, h: tf.Tensor, U: tf.Tensor) -> tf.Tensor:
    """The loop in a graph."""
    return recur(faulty_step, (inputs,), (h,), {"U": U}, output_sizes=(UNITS,))[1]


def traces() -> list[Trace]:
    """The same mistake in every way of running it."""
    arguments = (tf.zeros([TIME, BATCH, UNITS]), tf.zeros([BATCH, UNITS]), tf.zeros([UNITS, UNITS]))
    sizes = [tf.TensorSpec([None, None, size]) for size in (UNITS, None)]
    known = tf.function(static, autograph=False)
    # Sizes that are known only when the graph runs.
    unknown = tf.function(
        static, input_signature=[sizes[0], tf.TensorSpec([None, None]), tf.TensorSpec([None, None])], autograph=False
    )
    return [
        _trace("define-by-run", lambda: by_run(*arguments)),
        _trace("static graph, sizes known", lambda: known(*arguments)),
        _trace("static graph, sizes unknown until it runs", lambda: unknown(*arguments), unknown),
        _trace("the same, after tf.config.run_functions_eagerly(True)", lambda: eagerly(unknown, *arguments)),
    ]


def eagerly(function: Callable, *arguments: tf.Tensor) -> tf.Tensor:
    """Call a `tf.function` as a plain Python function: how a static graph is debugged."""
    tf.config.run_functions_eagerly(True)
    try:
        return function(*arguments)
    finally:
        tf.config.run_functions_eagerly(False)


def _trace(way, function, traced=None):
    try:
        function()
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        text = "".join(traceback.format_exception(error))
        if traced is not None and traced.experimental_get_tracing_count():
            when = "while the graph ran, after it had been traced"
        elif isinstance(error, ValueError):
            when = "while the graph was traced, before anything was computed"
        else:
            when = "while the first word was read"
        names_sizes = next(line for line in str(error).splitlines() if re.search(r"\[\d+,", line))
        message = f"{type(error).__name__}: {re.sub(r'{{function_node [^}]*}} ', '', names_sizes).strip()}"
        return Trace(way, when, message, len(frames), MISTAKE in text, text)
    raise AssertionError("the step is not faulty")
