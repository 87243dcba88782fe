import keras
import numpy as np

from tfnmt.layers.feedforward import activate
from tfnmt_programs.concepts.units import PIECES_B, PIECES_W, TOOTH_B, TOOTH_OUT, TOOTH_W, layer, maxout, relu


def test_relu():
    assert relu(np.array([-2.0, 0.0, 3.0])).tolist() == [0, 0, 3]


def test_the_layers_of_the_project_compute_the_same():
    random = np.random.default_rng(1)
    x, W, b = random.normal(size=(3, 5)), random.normal(size=(2, 5, 4)), random.normal(size=(2, 4))
    np.testing.assert_allclose(activate(x, "relu"), relu(x))
    columns = np.stack([x @ W[j] + b[j] for j in range(2)], axis=-1).reshape(3, 8)  # a unit's pieces side by side
    np.testing.assert_allclose(activate(columns, "maxout"), maxout(x, W, b))


def test_a_layer_is_keras_dense():
    dense = keras.layers.Dense(4, "relu", bias_initializer="normal")
    x = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    expected = dense(x).numpy()
    np.testing.assert_allclose(layer(x, *(w.numpy() for w in dense.weights), relu), expected, rtol=1e-5, atol=1e-6)


def test_three_rectified_units_make_a_tooth():
    x = np.array([[-2.0], [-1.0], [-0.5], [0.0], [0.5], [1.0], [2.0]])
    assert (layer(x, TOOTH_W, TOOTH_B, relu) @ TOOTH_OUT).tolist() == [0, 0, 0.5, 1, 0.5, 0, 0]


def test_maxout_is_the_greatest_of_its_pieces():
    x = np.array([[-2.0], [0.25], [1.0]])
    assert maxout(x, PIECES_W, PIECES_B).tolist() == [[2], [0.5], [1]]
    two_pieces = np.array([[[1.0, 0.0]], [[0.0, 0.0]]]), np.array([[0.0, 1.0], [0.0, 2.0]])
    assert maxout(x, *two_pieces).tolist() == [[0, 2], [0.25, 2], [1, 2]]  # the first unit is a ReLU
