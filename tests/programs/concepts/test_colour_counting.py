"""Counting colours: by hand, on drawn animals, and where it fails."""

import numpy as np

from tfnmt_programs.concepts.colour_counting import colour_counts, draw_animals, regression_accuracy


def test_colours_are_counted_by_hand():
    green, blue, red = (0.1, 0.9, 0.2), (0.1, 0.2, 0.9), (0.9, 0.2, 0.1)
    picture = np.array([[green, green], [blue, red]])
    np.testing.assert_array_equal(colour_counts(picture[np.newaxis]), [[0.5, 0.25]])


def test_they_tell_water_from_land_and_not_long_legs_from_short():
    wet, legs = (np.random.default_rng(seed).random(200) < 0.5 for seed in (1, 2))
    assert regression_accuracy(draw_animals(wet, legs, seed=3), wet) > 0.95
    assert regression_accuracy(draw_animals(np.zeros(200, bool), legs, seed=4), legs) < 0.8
