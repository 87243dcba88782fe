"""Convolution as a moving average and as diffusion; amplitude and phase."""

import numpy as np
import pytest

from tfnmt_programs.concepts.convolution_readings import DIFFUSION, MIXING, bell, diffuse, moving_average, spread
from tfnmt_programs.concepts.phase import amplitude_and_phase, put_together

RANDOM = np.random.default_rng(1)


def test_a_moving_average_by_hand():
    average = moving_average(np.array([1.0, 2.0, 6.0, 1.0]), np.array([0.25, 0.5, 0.25]))
    np.testing.assert_allclose(average, [(1 + 2 * 2 + 6) / 4, (2 + 2 * 6 + 1) / 4])
    assert bell(7).sum() == pytest.approx(1) and bell(7).argmax() == 3


def test_milk_spreads_linearly_and_none_is_lost():
    drop = np.zeros([41, 41])
    drop[20, 20] = 1.0
    assert DIFFUSION.sum() == pytest.approx(1)
    for steps in (0, 1, 7, 15):
        milk = diffuse(drop, steps)
        assert milk.sum() == pytest.approx(1) and spread(milk) == pytest.approx(2 * MIXING * steps, abs=1e-9)


def test_amplitude_and_phase_make_the_picture_again():
    picture = RANDOM.normal(size=(6, 8))
    np.testing.assert_allclose(put_together(*amplitude_and_phase(picture)), picture)


def test_a_wave_of_30_hz_has_its_amplitude_and_phase():
    """0.3 cos(2π 30 t + 60°) over one second: the numbers of the post's example."""
    t = np.arange(100) / 100
    amplitude, phase = amplitude_and_phase(0.3 * np.cos(2 * np.pi * 30 * t + np.deg2rad(60))[np.newaxis])
    assert 2 * amplitude[0, 30] / 100 == pytest.approx(0.3) and np.rad2deg(phase[0, 30]) == pytest.approx(60)
    assert np.delete(amplitude[0], [30, 70]).max() == pytest.approx(0, abs=1e-9)
