"""Convolution, cross-correlation, the Fourier form and pooling."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt_programs.concepts.convolution import EDGES, convolve
from tfnmt_programs.concepts.cross_correlation import correlate, detector, find, letters
from tfnmt_programs.concepts.fourier import (
    convolve_fourier,
    direct_multiplications,
    faster_from,
    fourier_multiplications,
)
from tfnmt_programs.concepts.pooling import likeness, pool, shifted

RANDOM = np.random.default_rng(1)
IMAGE, KERNEL = RANDOM.normal(size=(9, 7)), RANDOM.normal(size=(3, 2))


def test_convolution_by_hand():
    image, kernel = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[1.0, 10.0], [100.0, 1000.0]])
    # (f ∗ g)[1, 1] = f[1, 1] g[0, 0] + f[1, 0] g[0, 1] + f[0, 1] g[1, 0] + f[0, 0] g[1, 1]
    assert convolve(image, kernel).tolist() == [[5 + 40 + 200 + 1000, 6 + 50 + 300 + 2000]]


def test_convolution_in_one_dimension_is_numpys():
    signal, kernel = RANDOM.normal(size=12), RANDOM.normal(size=4)
    expected = np.convolve(signal, kernel, "valid")
    np.testing.assert_allclose(convolve(signal[np.newaxis], kernel[np.newaxis])[0], expected)


def test_convolution_does_not_depend_on_the_order_and_is_linear():
    once = convolve(convolve(IMAGE, KERNEL), EDGES)
    np.testing.assert_allclose(convolve(convolve(IMAGE, EDGES), KERNEL), once)
    np.testing.assert_allclose(
        convolve(IMAGE, 2 * KERNEL + 1), 2 * convolve(IMAGE, KERNEL) + convolve(IMAGE, KERNEL**0)
    )


def test_the_edge_kernel_answers_to_edges_alone():
    step = np.repeat([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]], 5, axis=0)
    assert convolve(step, EDGES).tolist() == [[0, -3, 3, 0]] * 3


def test_cross_correlation_is_what_tensorflow_calls_convolution():
    expected = tf.nn.conv2d(IMAGE[np.newaxis, :, :, np.newaxis], KERNEL[:, :, np.newaxis, np.newaxis], 1, "VALID")
    np.testing.assert_allclose(correlate(IMAGE, KERNEL), expected[0, :, :, 0], atol=1e-12)


def test_cross_correlation_finds_the_letter_and_convolution_its_reverse():
    picture, letter, place = letters()
    assert find(picture, letter) == place
    assert find(picture[::-1, ::-1], letter[::-1, ::-1]) == tuple(
        size - side - start for size, side, start in zip(picture.shape, letter.shape, place, strict=True)
    )
    answers = convolve(picture, detector(letter))
    assert np.unravel_index(answers.argmax(), answers.shape) == find(picture, letter[::-1, ::-1]) != place


def test_brightness_says_nothing_to_a_detector():
    assert correlate(np.full(KERNEL.shape, 7.0), detector(KERNEL)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("kernel_shape", [(1, 1), (3, 3), (2, 5), (9, 7)])
def test_the_fourier_form_gives_the_same(kernel_shape):
    kernel = RANDOM.normal(size=kernel_shape)
    np.testing.assert_allclose(convolve_fourier(IMAGE, kernel), convolve(IMAGE, kernel), atol=1e-12)


def test_fourier_needs_fewer_multiplications_from_that_size_on():
    assert direct_multiplications(256, 3) == 254 * 254 * 9
    assert fourier_multiplications(4) == 3 * 16 * 4 + 2 * 16
    size = faster_from(256)
    assert size == 8
    assert direct_multiplications(256, size - 1) <= fourier_multiplications(256) < direct_multiplications(256, size)
    assert faster_from(2) is None


def test_pooling_by_hand():
    values = np.array([[1.0, 2.0, 0.0, 9.0], [3.0, 4.0, 5.0, 6.0], [7.0, 7.0, 7.0, 7.0]])
    assert pool(values, 2).tolist() == [[4, 9]]
    assert pool(values, 2, np.mean).tolist() == [[2.5, 5]]


def test_a_shift_within_an_area_changes_nothing_and_an_areas_shift_moves_areas():
    dots = np.zeros((8, 16))
    dots[1, 4] = dots[6, 12] = 1
    for shift in range(4):
        np.testing.assert_array_equal(pool(shifted(dots, shift), 4), pool(dots, 4))
    np.testing.assert_array_equal(pool(shifted(dots, 4), 4), shifted(pool(dots, 4), 1))
    assert likeness(pool(dots, 4), pool(shifted(dots, 3), 4)) == pytest.approx(1)
    assert likeness(dots, shifted(dots, 3)) < 0
