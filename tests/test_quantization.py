"""Stored weights by hand: what each precision makes of a matrix, of an embedding and of a vector."""

import keras
import numpy as np
import pytest

from tfnmt.quantization import StoredWeights

EMBEDDING = np.array([[1.0, 0.3], [100.0, 50.0], [0.0, 0.0]], np.float32)
KERNEL = np.array([[127.0, 2.0, 0.0], [-63.6, 0.3, 0.0]], np.float32)
BIAS = np.array([0.1, 1e6, -3.0], np.float32)


def values_of(precision, *weights, **options):
    """The weights of a small model with which it computes where they are stored."""
    model = keras.Sequential([keras.Input([1]), keras.layers.Embedding(3, 2), keras.layers.Dense(3)])
    model.set_weights(weights)
    stored = StoredWeights([model], precision, **options)
    model.set_weights([np.zeros_like(weight) for weight in weights])  # it is a copy that is stored
    with stored.in_use([model]):
        return [np.array(weight.value) for weight in model.weights]


def test_int8_has_a_scale_for_each_column_and_each_row_of_an_embedding():
    embedding, kernel, bias = values_of("int8", EMBEDDING, KERNEL, BIAS)
    np.testing.assert_allclose(embedding, [[1.0, 38 / 127], [100.0, 64 / 1.27], [0.0, 0.0]], rtol=1e-6)
    np.testing.assert_allclose(kernel, [[127.0, 2.0, 0.0], [-64.0, 19 * 2 / 127, 0.0]], rtol=1e-6)
    np.testing.assert_array_equal(bias, BIAS)
    _, kernel, _ = values_of("int8", EMBEDDING, KERNEL, BIAS, levels=2)
    np.testing.assert_allclose(kernel, [[127.0, 2.0, 0.0], [-63.5, 0.0, 0.0]], rtol=1e-6)


@pytest.mark.parametrize("sign", [-1, 1])
def test_float16_keeps_what_is_too_large_for_it_finite(sign):
    embedding, kernel, bias = values_of("float16", EMBEDDING, sign * 1000 * KERNEL, BIAS)
    np.testing.assert_array_equal(embedding, EMBEDDING.astype(np.float16))
    np.testing.assert_array_equal(kernel[0], [sign * 65504.0, sign * 2000.0, 0.0])
    np.testing.assert_array_equal(bias, BIAS)
