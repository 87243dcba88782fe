"""Drawn signs, the small network of the post's Figure 5, inception, and features made by hand or learned."""

import keras
import numpy as np
import pytest

from tfnmt_programs.concepts.convolutional_network import accuracy, dead_units, feature_maps, sign_network, train
from tfnmt_programs.concepts.inception import BRANCHES, directly, inception_module, multiplications, reduced_first
from tfnmt_programs.concepts.learned_features import edge_strengths, regression_accuracy, what_excites
from tfnmt_programs.concepts.pooling import pool
from tfnmt_programs.concepts.signs import SIGNS, draw_signs, some_signs


@pytest.fixture(scope="module")
def network():
    return train(sign_network(), *some_signs(600, seed=1), epochs=4)


def test_the_same_seed_draws_the_same_signs():
    pictures, labels = some_signs(20, seed=5)
    np.testing.assert_array_equal(pictures, draw_signs(labels, seed=5))
    assert pictures.shape == (20, 32, 32, 1) and pictures.dtype == np.float32
    assert set(labels) <= set(range(len(SIGNS)))
    assert not np.array_equal(pictures, some_signs(20, seed=6)[0])
    assert draw_signs([], seed=1).shape == (0, 32, 32, 1)


def test_a_sign_is_dark_or_light_where_it_should_be():
    means = draw_signs(range(len(SIGNS)), seed=1, noise=0)[..., 0].min(axis=(1, 2))
    assert (means < 0.21).all()


def test_the_network_has_the_shapes_of_figure_5(network):
    maps = feature_maps(network, some_signs(3, seed=2)[0])
    assert {name: values.shape[1:] for name, values in maps.items()} == {
        "kernels_1": (28, 28, 4),
        "pooled_1": (14, 14, 4),
        "kernels_2": (10, 10, 10),
        "pooled_2": (5, 5, 10),
        "classes": (6,),
    }
    np.testing.assert_array_equal(maps["pooled_1"][0, ..., 2], pool(maps["kernels_1"][0, ..., 2], 2))


def test_the_network_learns(network):
    assert accuracy(network, *some_signs(200, seed=2)) > 2.5 / len(SIGNS)


def test_dead_units_are_counted(network):
    pictures, _ = some_signs(20, seed=2)
    alive = dead_units(network, pictures)
    copied = keras.models.clone_model(network)
    copied.set_weights(network.get_weights())
    bias = copied.get_layer("kernels_2").bias
    bias.assign(np.full(10, -1e6))
    assert dead_units(copied, pictures) == 10 + dead_in_first(network, pictures)
    bias.assign(np.full(10, 1e6))
    assert dead_units(copied, pictures) == dead_in_first(network, pictures) <= alive


def dead_in_first(network, pictures):
    answers = feature_maps(network, pictures)["kernels_1"]
    return sum(not answers[..., k].any() for k in range(4))


def test_what_excites_shows_patches_of_the_pictures(network):
    pictures, _ = some_signs(6, seed=3)
    patches = what_excites(network, pictures, "kernels_2", patch=14, stride=2, count=1)
    assert patches.shape == (10, 14, 14)
    answers = feature_maps(network, pictures)["kernels_2"][..., 4]
    i, row, column = np.unravel_index(answers.argmax(), answers.shape)
    np.testing.assert_array_equal(patches[4], pictures[i, 2 * row : 2 * row + 14, 2 * column : 2 * column + 14, 0])


def test_hand_made_features_tell_directions_of_edges():
    step = np.zeros((1, 32, 32, 1))
    step[:, :, 17:] = 1
    across, along, *_ = edge_strengths(step).reshape(4, 6, 6)
    assert across.max() > 1 and along.max() == 0
    np.testing.assert_array_equal(edge_strengths(step.transpose(0, 2, 1, 3)).reshape(4, 6, 6)[1], across.T)


def test_a_regression_on_telling_features_is_right():
    labels = np.arange(300) % len(SIGNS)
    x = np.eye(len(SIGNS))[labels]
    assert regression_accuracy(x, labels, x[:7], labels[:7], epochs=30) == 1


def test_inceptions_reduction_is_counted():
    assert directly() == 28 * 28 * 25 * 192 * 64 == 240_844_800
    assert reduced_first() == (28 * 28 * 192 * 64, 28 * 28 * 25 * 64 * 64)
    assert directly() / sum(reduced_first()) == pytest.approx(2.68, abs=0.01)
    assert multiplications(2, 3, 5, 1) == 4 * 15


def test_an_inception_module_puts_its_branches_side_by_side():
    module = inception_module(7, branches=((("1 × 1", 2),), (("1 × 1", 3), ("5 × 5", 4)), (("pooling", None),)))
    assert module.output_shape == (None, None, None, 2 + 4 + 7)
    x = np.random.default_rng(1).normal(size=(1, 6, 6, 7)).astype(np.float32)
    y = module(x).numpy()
    assert y.shape == (1, 6, 6, 13)
    assert y[0, 2, 3, 6:] == pytest.approx(x[0, 1:4, 2:5].max(axis=(0, 1)))
    assert inception_module(192).output_shape[-1] == sum(branch[-1][1] for branch in BRANCHES) == 256
