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


@pytest.mark.parametrize("k", [1, 6])
def test_in_a_graph_with_any_number_of_columns(k):
    graph = tf.function(lambda x: top_k(x, k), [tf.TensorSpec([None, None])], autograph=False)
    for rows, columns in [(0, 1000), (2, 1000), (7, 1), (7, 5), (7, 32), (7, 33), (7, 192), (7, 769)]:
        x = tf.round(tf.random.stateless_normal([rows, columns], [1, 2]))
        for each in (x, tf.fill(x.shape, -np.inf)):
            for found, expected in zip(graph(each), tf.math.top_k(each, min(k, columns)), strict=True):
                np.testing.assert_array_equal(found, expected)


def test_a_large_k_makes_no_rows_longer():
    """Neither of any number of columns, as with a shortlist: they are not padded to 32 · k columns."""
    graph = tf.function(lambda x: top_k(x, 2**16), [tf.TensorSpec([None, None])], autograph=False)
    assert "PadV2" not in {operation.type for operation in graph.get_concrete_function().graph.get_operations()}
    x = tf.round(tf.random.stateless_normal([7, 769], [1, 2]))
    for found, expected in zip(graph(x), tf.math.top_k(x, 769), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_in_a_graph_with_a_known_number_of_columns():
    x = tf.random.stateless_normal([0, 1000], [1, 2])
    graph = tf.function(lambda x: top_k(x, 3), [tf.TensorSpec([None, 1000])], autograph=False)
    assert [found.shape for found in graph(x)] == [[0, 3], [0, 3]]
