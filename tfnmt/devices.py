"""Where operations run on a machine that has a GPU."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import tensorflow as tf

from tfnmt.errors import UserError

P = ParamSpec("P")
R = TypeVar("R")


def use_device(name: str | None) -> str:
    """Let this process compute on one device alone, before it has computed anything.

    Args:
        name: "cpu", or "gpu:0", "gpu:1", …; None for TensorFlow's own choice: the first GPU, or the CPU without one.

    Returns:
        What it computes on, as such a name.

    Raises:
        UserError: there is no such device; names those that there are.
    """
    gpus = tf.config.list_physical_devices("GPU")
    known = ["cpu", *(f"gpu:{i}" for i in range(len(gpus)))]
    chosen = known[min(1, len(gpus))] if name is None else name
    if chosen not in known:
        raise UserError(f"--device {name}: there is no such device here; there is {', '.join(known)}")
    shown = gpus if name is None else [] if chosen == "cpu" else [gpus[known.index(chosen) - 1]]
    if gpus:
        tf.config.set_visible_devices(shown, "GPU")
    for gpu in shown:  # several processes may share one
        tf.config.experimental.set_memory_growth(gpu, True)
    return chosen


def on_cpu(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator: what the function computes is computed on the CPU.

    For strings, of which GPUs know nothing, and for integers that say how large tensors are or where things lie: a GPU
    has half of their operations only in the host's memory, and the host would wait for the other half again and again.
    """

    @functools.wraps(function)
    def on_the_cpu(*args: P.args, **kwargs: P.kwargs) -> R:
        with tf.device("CPU:0"):
            return function(*args, **kwargs)

    return on_the_cpu
