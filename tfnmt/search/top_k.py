"""The k largest of many numbers, quickly."""

import tensorflow as tf

BLOCK = 32


def top_k(x, k):
    """`tf.math.top_k` of float [rows, columns], several times as fast on a CPU where k is small and the rows are long.

    The k largest of a row stand in those k of its blocks whose maxima are the largest; only these are sorted.

    Returns:
        (values, columns): float and int32 [rows, min(k, columns)], the largest first, of equal ones the first first.
    """
    columns = x.shape[1]
    if columns is None or columns < 4 * k * BLOCK:
        return tf.math.top_k(x, tf.minimum(k, tf.shape(x)[1]))
    if columns % BLOCK:
        x = tf.pad(x, [[0, 0], [0, -columns % BLOCK]], constant_values=float("-inf"))
    blocks = tf.reshape(x, [-1, x.shape[1] // BLOCK, BLOCK])
    _, best = tf.math.top_k(tf.reduce_max(blocks, axis=2), k)
    best = tf.sort(best)  # so that of equal numbers the first one counts
    values, at = tf.math.top_k(tf.reshape(tf.gather(blocks, best, batch_dims=1), [-1, k * BLOCK]), k)
    return values, BLOCK * tf.gather(best, at // BLOCK, batch_dims=1) + at % BLOCK
