"""What the searches do with tensors of every step."""

import tensorflow as tf


def growing_array(like):
    """A TensorArray that grows, for tensors such as `like` with any number of rows, their first dimension."""
    element_shape = tf.TensorShape([None]).concatenate(like.shape[1:])
    return tf.TensorArray(like.dtype, size=0, dynamic_size=True, element_shape=element_shape)


def zero_unless(condition, x):
    """`x` where bool `condition`, of its first dimensions, holds; 0 elsewhere."""
    for _ in range(x.shape.rank - condition.shape.rank):
        condition = condition[..., tf.newaxis]
    return tf.where(condition, x, tf.zeros([], x.dtype))
