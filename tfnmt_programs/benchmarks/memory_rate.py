"""How fast this machine reads its memory: what the speed of translating one sentence is to be seen beside."""

import time

import tensorflow as tf


def memory_rate(megabytes=256, seconds=0.4):
    """GB/s at which float32 numbers are read and added up, from more memory than a processor keeps near.

    Args:
        seconds: how long to measure, about.
    """
    x = tf.zeros([megabytes * 250_000])
    count, taken = 1, 0.0
    _sums(x, tf.constant(1))  # traced, and the memory there
    while taken < seconds / 2:  # twice as often, until they fill the time
        count *= 2
        start = time.perf_counter()
        _sums(x, tf.constant(count)).numpy()
        taken = time.perf_counter() - start
    return megabytes * count / taken / 1000


@tf.function
def _sums(x, count):
    return tf.while_loop(
        lambda i, _: i < count,
        # The sum before is the first number's share, so that no sum can be left out.
        lambda i, total: (i + 1, total + tf.reduce_sum(x) + tf.cast(i, tf.float32)),
        (0, 0.0),
        parallel_iterations=1,
    )[1]
