"""Where operations run on a machine that has a GPU."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import tensorflow as tf

P = ParamSpec("P")
R = TypeVar("R")


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
