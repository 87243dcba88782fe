"""The size of pooling areas: rotations, and what is left to classify."""

import numpy as np
import pytest

from tfnmt_programs.concepts.pooling import pool
from tfnmt_programs.concepts.pooling_areas import accuracies, edge_maps, pooled, rotated
from tfnmt_programs.concepts.signs import some_signs


def test_a_quarter_turn_is_numpys():
    picture = np.arange(12.0).reshape(3, 4)[:, :3]
    np.testing.assert_array_equal(rotated(picture, 0), picture)
    np.testing.assert_array_equal(rotated(picture, 90), np.rot90(picture))


def test_pooled_maps_are_those_of_the_equation():
    maps = edge_maps(some_signs(2, seed=1)[0])
    expected = pool(maps[1, :, :, 2], 5)
    np.testing.assert_allclose(pooled(maps, 5).reshape(2, 6, 6, 4)[1, :, :, 2], expected, rtol=1e-6)


def test_one_area_for_a_whole_picture_keeps_too_little():
    found = accuracies(sizes=(5, 30), examples=240, epochs=4)
    assert found[5] > found[30] + 0.1 and found[30] == pytest.approx(0.3, abs=0.3)
