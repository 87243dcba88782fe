"""The head: features of a pair by hand, layers in NumPy, and rows that a mask hides."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.feedforward import MultilayerPerceptron, activate, pair_features


def test_features_of_a_pair():
    roots = tf.constant([[1.0, 2.0], [5.0, 5.0], [3.0, -1.0], [5.0, 5.0]])
    features = pair_features(roots).numpy()
    np.testing.assert_array_equal(features[0], [1, 2, 3, -1, -2, 3, 3, -2])
    np.testing.assert_array_equal(features[1], [5, 5, 5, 5, 0, 0, 25, 25])


def test_relu_and_maxout():
    a = tf.constant([[1.0, -2.0, -3.0, -4.0]])
    np.testing.assert_array_equal(activate(a, "relu"), [[1, 0, 0, 0]])
    np.testing.assert_array_equal(activate(a, "maxout"), [[1, -3]])


def test_scores_of_one_hidden_layer():
    head = MultilayerPerceptron(3, 4, layers=1)
    head.build((None, 2))
    x = np.array([[0.5, -1.0], [2.0, 0.1]], np.float32)
    W, b, V, c = (variable.numpy() for variable in head.trainable_variables)
    assert np.abs(V).max() <= 0.005
    np.testing.assert_allclose(head(tf.constant(x)), np.maximum(x @ W + b, 0) @ V + c, atol=1e-6)


def test_hidden_rows_change_neither_scores_nor_moments():
    random = np.random.default_rng(0)
    features = random.normal(size=(2, 3, 4)).astype(np.float32)
    mask = np.array([[True, True, True], [True, False, False]])
    results = []
    for garbage in (0, 100):
        head = MultilayerPerceptron(3, 5, layers=2, batch_normalization=True)
        head.build((None, None, 4))
        draw = np.random.default_rng(1)
        for variable in head.trainable_variables:
            variable.assign(draw.normal(size=variable.shape))
        x = np.where(mask[..., None], features, garbage).astype(np.float32)
        scores = head(tf.constant(x), real=tf.constant(mask), training=True).numpy()
        results.append((scores[mask], *head.get_weights()))
    for value, expected in zip(*results, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-4)


def test_dropout_of_features_and_hidden_layers_is_for_training_alone():
    of_features, x = MultilayerPerceptron(3, 8, layers=0, dropout=0.5), tf.ones([20, 4])
    of_features.build((None, 4))
    of_hidden = MultilayerPerceptron(3, 8, layers=1, dropout=0.5)
    of_hidden.build((None, 4))
    of_hidden.hidden[0].set_weights([np.zeros([4, 8]), np.ones(8)])  # whatever the features are
    for head in (of_features, of_hidden):
        once, again = (head(x, training=True).numpy() for _ in range(2))
        assert not np.allclose(once, again, atol=1e-6) and np.ptp(head(x).numpy(), axis=0).max() == 0


def test_an_activation_that_there_is_none_of():
    with pytest.raises(ValueError, match="activation='gelu': one of relu, maxout"):
        MultilayerPerceptron(3, 4, activation="gelu")


def test_numbers_of_layers_and_units_are_checked():
    for wrong, least in (({"layers": -1}, 0), ({"layers": 1.5}, 0), ({"units": 0}, 1), ({"classes": 0}, 1)):
        ((name, value),) = wrong.items()
        with pytest.raises(ValueError, match=f"{name}={value}: must be a whole number from {least}"):
            MultilayerPerceptron(**{"classes": 3, "units": 4} | wrong)
