"""Whether a product in int8 is worth it: the same product in int8 and in float32, timed in turn."""

import functools
import time

import tensorflow as tf

from tfnmt.layers.int8 import Int8Matrix

ROWS = 64
"""A batch of sentences, one hypothesis of each."""
REPETITIONS = 10
"""Products in a row, so that a call of TensorFlow's counts little."""
ROUNDS = 15
"""How often both are timed; of each, the least time counts, which other programs disturbed least."""
MARGIN = 1.1
"""What is less than a tenth faster in float32 may be so by chance."""


def is_faster_in_float32(matrix: Int8Matrix) -> bool:
    """Whether this machine multiplies `ROWS` rows with a matrix faster in float32 than in int8, by a tenth at least, as
    a processor's time tells: commands run each product on one thread."""
    columns = matrix.columns(tf.range(matrix.shape[1]))
    in_float32 = functools.partial(tf.matmul, b=columns)
    products = [_repeated(multiply, matrix.shape[0]) for multiply in (matrix.multiply, in_float32)]
    x = tf.random.stateless_uniform([ROWS, matrix.shape[0]], [1, 1], -1.0, 1.0)
    int8, float32 = zip(*([_seconds(product, x) for product in products] for _ in range(ROUNDS + 1)), strict=True)
    return min(int8[1:]) > MARGIN * min(float32[1:])  # the first round traces


def _repeated(multiply, size):
    """Each product depends on the one before, so that none can be left out or done beside another."""

    @tf.function(input_signature=[tf.TensorSpec([ROWS, size])], autograph=False)
    def repeated(x):
        for _ in range(REPETITIONS):
            x += 1e-6 * multiply(x)[:, :1]
        return x

    return repeated


def _seconds(product, x):
    """Of a processor: what else runs on the machine counts less."""
    begin = time.process_time()
    product(x).numpy()
    return time.process_time() - begin
