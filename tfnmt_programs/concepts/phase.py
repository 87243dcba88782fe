"""Amplitude and phase: what of a picture is in each half of its Fourier transform.

Every frequency has an amplitude (how strong) and a phase (where its waves begin). Of two pictures, one's amplitudes are
put together with the other's phases.
"""

import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import new_figure
from tfnmt_programs.concepts.drawing import house, show_map
from tfnmt_programs.concepts.pooling import likeness
from tfnmt_programs.concepts.signs import SIGNS, draw_signs


def amplitude_and_phase(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|F| and the angle of F, in radians, of a picture's Fourier transform; all [rows, columns]."""
    spectrum = np.fft.fft2(picture)
    return np.abs(spectrum), np.angle(spectrum)


def put_together(amplitude: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """The picture with that amplitude and phase: the inverse of `amplitude_and_phase`."""
    return np.fft.ifft2(amplitude * np.exp(1j * phase)).real


def show() -> tuple[Figure, str]:
    """A house and a sign, and both with amplitudes swapped."""
    first = house(128)
    sign = draw_signs([SIGNS.index("warning")], seed=2, noise=0.0)[0, :, :, 0]
    second = np.kron(sign, np.ones([4, 4]))
    (a, phase_a), (b, phase_b) = amplitude_and_phase(first), amplitude_and_phase(second)
    like_house, like_sign = put_together(b, phase_a), put_together(a, phase_b)

    figure = new_figure(10, 3.1)
    for axes, picture, title in zip(
        figure.subplots(1, 4),
        (first, second, like_house, like_sign),
        (
            "a house",
            "a sign",
            "amplitudes of the sign,\nphases of the house",
            "amplitudes of the house,\nphases of the sign",
        ),
        strict=True,
    ):
        show_map(axes, picture, title)
    by_phase = likeness(like_house, first), likeness(like_sign, second)
    by_amplitude = likeness(like_house, second), likeness(like_sign, first)
    return figure, (
        f"a picture correlates {by_phase[0]:.2f} and {by_phase[1]:.2f} with the one that its phases come from,"
        f" {by_amplitude[0]:.2f} and {by_amplitude[1]:.2f} with the one that its amplitudes come from"
    )
