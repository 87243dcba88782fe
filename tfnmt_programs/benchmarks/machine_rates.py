"""How fast this machine multiplies matrices and reads its memory: the bounds of what any program does on it."""

import concurrent.futures
from collections.abc import Callable

import tensorflow as tf

from tfnmt_programs.measuring import seconds_of

LARGE = (2048, 2048, 2048)
"""As large as products get: the machine's rate."""
SMALL = (64, 512, 1536)
"""A step of a recurrence: a batch of 64 states of 512 units times the weights of a GRU."""


def machine_rate() -> float:
    """GFLOP/s of large float32 products that keep all threads busy: those of one operation, or of several at once."""
    threads = tf.config.threading
    if threads.get_intra_op_parallelism_threads() != 1:
        return matrix_rate(*LARGE)
    return rate_of_several(max(1, threads.get_inter_op_parallelism_threads()), lambda: matrix_rate(*LARGE))


def rate_of_several(at_once: int, rate: Callable[[], float]) -> float:
    """The sum of so many measurements of a rate at the same time, each in a thread of its own."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return sum(pool.map(lambda _: rate(), range(at_once)))


def matrix_rate(rows: int, inner: int, columns: int, seconds: float = 0.4) -> float:
    """GFLOP/s of float32 products [rows, inner] × [inner, columns] (inner ≤ columns), one after the other in a graph.

    Args:
        seconds: how long to measure, about.
    """
    x = tf.random.stateless_normal([rows, inner], seed=[1, 1])
    weight = tf.random.stateless_normal([inner, columns], seed=[1, 2]) * inner**-0.5  # keeps the products' size
    return 2e-9 * rows * inner * columns * _per_second(lambda count: _products(x, weight, count), seconds)


def memory_rate(megabytes: int = 256, seconds: float = 0.4) -> float:
    """GB/s at which float32 numbers are read and added up, from more memory than a processor's caches hold.

    Args:
        seconds: how long to measure, about.
    """
    x = tf.zeros([megabytes * 250_000])
    return 1e-3 * megabytes * _per_second(lambda count: _sums(x, count), seconds)


def _per_second(repeat: Callable[[tf.Tensor], tf.Tensor], seconds: float) -> float:
    """How many repetitions a second `repeat(number of repetitions)` does."""
    repeat(tf.constant(1))  # traced, and the threads awake
    count, taken = 1, 0.0
    while taken < seconds / 2:  # twice as many, until they fill the time
        count *= 2
        repetitions = tf.constant(count)
        taken = seconds_of(lambda repetitions=repetitions: repeat(repetitions))
    return count / taken


@tf.function
def _products(x, weight, count):
    """Each product is made from the one before, so that none can be left out or done beside another."""
    size = x.shape[1]
    return tf.while_loop(
        lambda i, _: i < count, lambda i, x: (i + 1, tf.matmul(x, weight)[:, :size]), (0, x), parallel_iterations=1
    )[1]


@tf.function
def _sums(x, count):
    return tf.while_loop(
        lambda i, _: i < count,
        # Each sum depends on the one before, so that none can be left out. Of a sum of three numbers TensorFlow would
        # make a variable by the name of the operation, which two threads that measure at once have in common.
        lambda i, total: (i + 1, tf.maximum(total + tf.reduce_sum(x), tf.cast(i, tf.float32))),
        (0, 0.0),
        parallel_iterations=1,
    )[1]
