"""What all figures share: colours that colour-blind readers can tell apart, and how figures are made and written."""

import contextlib
import gc
import logging
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

logger = logging.getLogger(__name__)

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
FALLBACKS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans Devanagari",
    "Droid Sans Fallback",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
)
"""Fonts with characters that Matplotlib's own, DejaVu Sans, has not; those that are installed are used."""
_told: set[str] = set()
"""Characters without a font that pictures of this process had, so that it has been told."""


def new_figure(width: float, height: float) -> Figure:
    """A figure of that size in inches, with constrained layout."""
    return Figure(figsize=(width, height), layout="constrained")


def color_and_marker(i: int) -> tuple[str, str]:
    """Those of the i-th of several lines or groups, counted from 0."""
    return COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]


def plain_text() -> Any:
    """A context, or decorator of a function that draws words: text between dollar signs is not read as a formula, and
    characters may come from `FALLBACKS`.
    """
    installed = set(fontManager.get_font_names())
    families = ["DejaVu Sans", *(name for name in FALLBACKS if name in installed)]
    return matplotlib.rc_context({"text.parse_math": False, "font.family": families})


@contextlib.contextmanager
def missing_characters_told() -> Iterator[None]:
    """Characters that no font has are told in one line, once in a process, not in one of Matplotlib's for each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", r"Glyph \d+ .* missing from font", UserWarning)
        yield
    missing: set[str] = set()
    for warning in caught:
        if glyph := re.match(r"Glyph (\d+) .* missing from font", str(warning.message)):
            missing.add(chr(int(glyph[1])))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if missing and not _told:
        logger.warning(
            "boxes are drawn for characters that no font has, %r; install one that has them, such as Debian's "
            "fonts-noto-cjk, and delete %s, where Matplotlib keeps its list of fonts",
            "".join(sorted(missing)[:20]),
            matplotlib.get_cachedir(),
        )
    _told.update(missing)


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as the ending of the path says (.png, .svg, .pdf). The same figure gives the same bytes."""
    date = {".svg": "Date", ".pdf": "CreationDate"}.get(Path(path).suffix)
    options: dict[str, Any] = {"metadata": {date: None}} if date else {}
    with matplotlib.rc_context({"svg.hashsalt": "tfnmt"}), missing_characters_told():
        figure.savefig(path, dpi=120, **options)


def figure_image(figure: Figure) -> np.ndarray:
    """The figure as an image for `tf.summary.image`, uint8 [1, height, width, 4].

    Figures before it that nothing refers to any more are freed. They are thousands of objects in cycles, 4 MB each,
    which Python would keep for many epochs of a training.
    """
    gc.collect()
    canvas = FigureCanvasAgg(figure)
    with missing_characters_told():
        canvas.draw()
    return np.array(canvas.buffer_rgba())[np.newaxis]
