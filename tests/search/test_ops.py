"""The quick top_k against TensorFlow's own."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.search.ops import top_k


def check(x, k):
    for found, expected in zip(top_k(x, k), tf.math.top_k(x, min(k, x.shape[1])), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("k", [1, 2, 6, 13])
@pytest.mark.parametrize("columns", [1, 5, 127, 128, 769, 1024, 1669])
def test_it_equals_that_of_tensorflow(columns, k):
    x = np.random.default_rng(k).normal(size=[7, columns]).astype(np.float32)
    check(tf.constant(x), k)
    check(tf.constant(np.round(x)), k)  # many are equal
    check(tf.constant(np.where(x < 1.0, -np.inf, x)), k)
    check(tf.fill(x.shape, -np.inf), k)


@pytest.mark.parametrize("rows", [0, 2])
def test_in_a_graph(rows):
    x = tf.random.stateless_normal([rows, 1000], [1, 2])
    for columns in (None, 1000):
        graph = tf.function(lambda x: top_k(x, 3), [tf.TensorSpec([None, columns])], autograph=False)
        for found, expected in zip(graph(x), tf.math.top_k(x, 3), strict=True):
            np.testing.assert_array_equal(found, expected)
