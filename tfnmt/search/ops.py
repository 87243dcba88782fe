"""Tensor operations that the searches share."""

import tensorflow as tf

BLOCK = 32


def top_k(x: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """`tf.math.top_k` of float [rows, columns], several times as fast on a CPU where k is small and the rows are long.

    The k largest values of a row lie in the k of its blocks whose maxima are largest; only these blocks are sorted.

    Returns:
        (values, columns): float and int32 [rows, min(k, columns)], largest first; of equal values the first first.
    """
    columns = x.shape[1]
    if columns is not None and columns < 4 * k * BLOCK:
        return tf.math.top_k(x, min(k, columns))
    if columns is None:
        columns = tf.shape(x)[1]
        if k > BLOCK:  # to pad rows to k blocks would cost more than it saves
            return tf.math.top_k(x, tf.minimum(k, columns))
        x = _pad(x, tf.maximum(-columns % BLOCK, k * BLOCK - columns))
    elif columns % BLOCK:
        x = _pad(x, -columns % BLOCK)
    blocks = tf.reshape(x, [-1, (x.shape[1] or tf.shape(x)[1]) // BLOCK, BLOCK])
    _, best = tf.math.top_k(tf.reduce_max(blocks, axis=2), k)
    best = tf.sort(tf.cast(best, tf.int64))  # so that of equal values the first one counts
    values, at = tf.math.top_k(tf.reshape(tf.gather(blocks, best, batch_dims=1), [-1, k * BLOCK]), k)
    at = tf.cast(at, tf.int64)
    ids = BLOCK * tf.gather(best, at // BLOCK, batch_dims=1) + at % BLOCK
    return values[:, :columns], tf.cast(ids[:, :columns], tf.int32)  # a GPU has no kernel that slices int32


def _pad(x, columns):
    return tf.pad(x, [[0, 0], [0, columns]], constant_values=float("-inf"))


def positions(count: tf.Tensor) -> tf.Tensor:
    """0, 1, 2, …: int64 [count], of an int32 count (a `tf.range` of int64 would have it copied from the GPU)."""
    return tf.cast(tf.range(count), tf.int64)


def dynamic_array(like: tf.Tensor) -> tf.TensorArray:
    """An empty TensorArray for tensors such as `like`, with any number of rows (their first dimension)."""
    element_shape = tf.TensorShape([None]).concatenate(like.shape[1:])
    return tf.TensorArray(like.dtype, size=0, dynamic_size=True, element_shape=element_shape)


def zero_unless(condition: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """`x` where bool `condition`, of its first dimensions, holds; 0 elsewhere."""
    for _ in range(x.shape.rank - condition.shape.rank):
        condition = condition[..., tf.newaxis]
    return tf.where(condition, x, tf.zeros([], x.dtype))


def batch_major(x: tf.Tensor) -> tf.Tensor:
    """[time, batch, ...] → [batch, time, ...]."""
    return tf.transpose(x, [1, 0, *range(2, x.shape.rank)])
