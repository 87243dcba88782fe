"""The non-linearity of a layer that is no recurrence: ReLU or maxout."""

import tensorflow as tf

# How many columns a layer computes for each unit of its output.
PIECES = {"relu": 1, "maxout": 2}


def activate(a, activation):
    """ReLU, max(0, a), or maxout: the larger of two affine maps (Goodfellow et al. 2013, arXiv:1302.4389, eq. 1).

    a [..., units · PIECES[activation]] → [..., units]
    """
    if activation == "relu":
        return tf.nn.relu(a)
    units = a.shape[-1] // PIECES[activation]
    shape = tf.concat([tf.shape(a)[:-1], [units, PIECES[activation]]], axis=0)
    return tf.reduce_max(tf.reshape(a, shape), axis=-1)
