"""What all figures share: colours that colour-blind readers can tell apart, and how figures are made and written."""

import gc
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK = COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#000000",
)
"""Okabe and Ito's palette."""
MARKERS = "os^Dv*PX"
"""One more than colours, so that both together differ for 56 lines or groups."""


def new_figure(width: float, height: float) -> Figure:
    """A figure of that size in inches, with constrained layout."""
    return Figure(figsize=(width, height), layout="constrained")


def color_and_marker(i: int) -> tuple[str, str]:
    """Those of the i-th of several lines or groups, counted from 0."""
    return COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]


def plain_text() -> Any:
    """A context, or decorator of a function that draws words: text between dollar signs is not read as a formula."""
    return matplotlib.rc_context({"text.parse_math": False})


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as the ending of the path says (.png, .svg, .pdf). The same figure gives the same bytes."""
    date = {".svg": "Date", ".pdf": "CreationDate"}.get(Path(path).suffix)
    options: dict[str, Any] = {"metadata": {date: None}} if date else {}
    with matplotlib.rc_context({"svg.hashsalt": "tfnmt"}):
        figure.savefig(path, dpi=120, **options)


def figure_image(figure: Figure) -> np.ndarray:
    """The figure as an image for `tf.summary.image`, uint8 [1, height, width, 4].

    Figures before it that nothing refers to any more are freed. They are thousands of objects in cycles, 4 MB each,
    which Python would keep for many epochs of a training.
    """
    gc.collect()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[np.newaxis]
