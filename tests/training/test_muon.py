"""Muon: which weights it updates how, checked on one step."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.muon import Muon
from tfnmt.training.optimizers import make_optimizer

RATE = 0.01


def changes(shapes, **options):
    """What one update takes from weights of these shapes, by path."""
    options = {"optimizer": "muon", "learning_rate": RATE, "clip_norm": None} | options
    optimizer = make_optimizer(TrainingConfiguration(**options), 10)
    random = np.random.default_rng(1)
    variables = [keras.Variable(tf.ones(shape)) for shape in shapes.values()]
    for variable, path in zip(variables, shapes, strict=True):
        variable._path = path
    gradients = [tf.constant(random.normal(size=shape), tf.float32) for shape in shapes.values()]
    before = [variable.numpy() for variable in variables]
    optimizer.build(variables)
    optimizer.apply(gradients, variables)
    taken = [old - variable.numpy() for old, variable in zip(before, variables, strict=True)]
    return dict(zip(shapes, taken, strict=True)), dict(zip(shapes, gradients, strict=True)), optimizer


@pytest.mark.parametrize("mixed_precision, within", [(False, 1e-5), (True, 2e-4)])
def test_all_singular_values_of_a_matrix_change_alike(mixed_precision, within):
    taken, gradients, _ = changes({"U": (6, 9)}, mixed_precision=mixed_precision)
    u, values, vt = np.linalg.svd(gradients["U"], full_matrices=False)
    assert values.max() > 3 * values.min()
    along = u.T @ taken["U"] @ vt.T  # in the directions of the gradient
    scaled = np.diag(along) / (RATE * 0.2 * np.sqrt(9))
    assert scaled.min() > 0.6 and scaled.max() < 1.3
    np.testing.assert_allclose(along, np.diag(np.diag(along)), atol=within)


@pytest.mark.parametrize("path", ["decoder/b", "encoder/E/embeddings", "decoder/w", "decoder/attention/v"])
def test_what_is_no_map_between_layers_is_updated_by_adam(path):
    shape = (5,) if path.endswith("/b") else (5, 4)
    taken, gradients, _ = changes({path: shape})
    np.testing.assert_allclose(taken[path], RATE * np.sign(gradients[path]), rtol=1e-3)


def test_weight_decay_is_of_all_weights():
    for path, shape in (("U", (4, 4)), ("b", (4,))):
        with_decay, without = (changes({path: shape}, weight_decay=decay)[0][path] for decay in (0.5, 0.0))
        np.testing.assert_allclose(with_decay - without, RATE * 0.5, rtol=1e-3)


def test_the_norm_is_that_before_clipping():
    _, gradients, optimizer = changes({"U": (4, 4), "b": (4,)}, clip_norm=0.1)
    norm = np.sqrt(sum(np.sum(np.square(gradient)) for gradient in gradients.values()))
    assert float(optimizer.gradient_norm) == pytest.approx(norm, rel=1e-5)


def test_mixed_precision_iterates_in_bfloat16():
    exact, gradients, _ = changes({"U": (6, 9)})
    rounded, _, optimizer = changes({"U": (6, 9)}, mixed_precision=True)
    assert optimizer.iterations_dtype == "bfloat16"
    assert 1e-4 < np.abs(rounded["U"] - exact["U"]).max() / np.abs(exact["U"]).max() < 0.1


def test_it_is_saved_with_a_model():
    again = keras.optimizers.deserialize(keras.optimizers.serialize(Muon(0.5, 0.25, "bfloat16")))
    assert again.iterations_dtype == "bfloat16"
    assert isinstance(again, Muon)
    assert (again.weight_decay, again.adam_weight_decay, float(again.learning_rate)) == (0.25, 0.25, 0.5)
