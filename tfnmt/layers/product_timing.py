"""Whether products in int8 or bfloat16 are worth it: the same product so and in float32, timed in turn."""

import functools
import time

import tensorflow as tf

from tfnmt.layers.int8 import Int8Matrix
from tfnmt.layers.invariants import multiply

ROWS = 64
"""A batch of sentences, one hypothesis of each."""
REPETITIONS = 10
"""Products in a row, so that a call of TensorFlow's counts little."""
ROUNDS = 15
"""How often both are timed; of each, the least time counts, which other programs disturbed least."""
MARGIN = 1.1
"""What is less than a tenth faster in float32 may be so by chance."""
LARGE = (512, 1536)
"""A matrix of a GRU's of 512 units."""


def is_faster_in_float32(matrix: Int8Matrix) -> bool:
    """Whether this machine multiplies `ROWS` rows with a matrix faster in float32 than in int8, by a tenth at least, as
    a processor's time tells: commands run each product on one thread."""
    columns = matrix.columns(tf.range(matrix.shape[1]))
    return _is_slower(matrix.multiply, functools.partial(tf.matmul, b=columns), matrix.shape[0])


def bfloat16_is_slower() -> bool:
    """Whether this machine multiplies in bfloat16 more slowly than in float32, by a tenth at least, as some do that
    have instructions for it. Measured with the sizes of a decoder's step."""
    weight = tf.random.stateless_uniform(LARGE, [1, 1], -1.0, 1.0)
    in_bfloat16 = tf.cast(weight, tf.bfloat16)
    return _is_slower(lambda x: multiply(x, in_bfloat16), lambda x: multiply(x, weight), LARGE[0])


def _is_slower(product, in_float32, size):
    """Whether a product of [ROWS, size] takes more time than the same in float32."""
    products = [_repeated(each, size) for each in (product, in_float32)]
    x = tf.random.stateless_uniform([ROWS, size], [1, 1], -1.0, 1.0)
    times, float32 = zip(*([_seconds(each, x) for each in products] for _ in range(ROUNDS + 1)), strict=True)
    return min(times[1:]) > MARGIN * min(float32[1:])  # the first round traces


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
