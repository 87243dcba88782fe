"""Where the parts of a figure are drawn."""

import numpy as np


def lie_within(figure, parts):
    """Whether all of them are seen whole; to half a pixel."""
    figure.draw_without_rendering()
    boxes = [part.get_window_extent() for part in parts]
    lower, upper = np.array([box.min for box in boxes]), np.array([box.max for box in boxes])
    return bool((lower >= figure.bbox.min - 0.5).all() and (upper <= figure.bbox.max + 0.5).all())
