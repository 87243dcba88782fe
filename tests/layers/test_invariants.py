"""What layers multiply with in a block, and after it."""

import keras
import pytest
import tensorflow as tf

from tfnmt.layers.int8 import Int8Matrix, int8_matrices
from tfnmt.layers.invariants import cast_matrix, products_in


@pytest.fixture
def layer():
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    return layer


def test_products_are_in_another_dtype_within_a_block_alone(layer):
    """Also after an error, and in the innermost block's."""
    with products_in("bfloat16"):
        assert cast_matrix(layer, layer.kernel).dtype == tf.bfloat16
        with products_in(None):
            assert cast_matrix(layer, layer.kernel).dtype == tf.float32
        assert cast_matrix(layer, layer.kernel).dtype == tf.bfloat16
    assert cast_matrix(layer, layer.kernel).dtype == tf.float32
    with pytest.raises(ValueError, match="within"), products_in("bfloat16"):
        raise ValueError("within")
    assert cast_matrix(layer, layer.kernel).dtype == tf.float32


def test_matrices_are_in_int8_within_a_block_alone(layer):
    matrix = Int8Matrix(tf.ones([3, 2], tf.int8), tf.ones([2]), 1.0)
    with int8_matrices({id(layer.kernel): matrix}):
        assert cast_matrix(layer, layer.kernel) is matrix
    assert cast_matrix(layer, layer.kernel).dtype == tf.float32
    with pytest.raises(ValueError, match="within"), int8_matrices({id(layer.kernel): matrix}):
        raise ValueError("within")
    assert cast_matrix(layer, layer.kernel).dtype == tf.float32
