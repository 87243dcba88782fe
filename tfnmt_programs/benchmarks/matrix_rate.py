"""How fast this machine multiplies matrices: what any training step's speed is to be seen beside."""

import concurrent.futures
import time

import tensorflow as tf

LARGE = (2048, 2048, 2048)
"""As large as products get: the machine's rate."""
SMALL = (64, 512, 1536)
"""A step of a recurrence: a batch of 64 states of 512 units times the weights of a GRU."""


def machine_rate():
    """GFLOP/s of large float32 products that keep all threads busy: those of one operation, or of several at once."""
    threads = tf.config.threading
    if threads.get_intra_op_parallelism_threads() != 1:
        return matrix_rate(*LARGE)
    side_by_side = max(1, threads.get_inter_op_parallelism_threads())
    with concurrent.futures.ThreadPoolExecutor(side_by_side) as pool:
        return sum(pool.map(lambda _: matrix_rate(*LARGE), range(side_by_side)))


def matrix_rate(rows, inner, columns, seconds=0.4):
    """GFLOP/s of float32 products [rows, inner] × [inner, columns] (inner ≤ columns), one after the other in a graph.

    Args:
        seconds: how long to measure, about.
    """
    x = tf.random.stateless_normal([rows, inner], seed=[1, 1])
    weight = tf.random.stateless_normal([inner, columns], seed=[1, 2]) * inner**-0.5  # keeps the products' size
    count, taken = 1, 0.0
    _products(x, weight, tf.constant(1))  # traced, and the threads awake
    while taken < seconds / 2:  # twice as many, until they fill the time
        count *= 2
        start = time.perf_counter()
        _products(x, weight, tf.constant(count)).numpy()
        taken = time.perf_counter() - start
    return 2 * rows * inner * columns * count / taken / 1e9


@tf.function
def _products(x, weight, count):
    """Each product is made from the one before, so that none can be left out or done beside another."""
    size = x.shape[1]
    return tf.while_loop(
        lambda i, _: i < count, lambda i, x: (i + 1, tf.matmul(x, weight)[:, :size]), (0, x), parallel_iterations=1
    )[1]
