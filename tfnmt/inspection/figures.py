"""What all pictures share: colours for colour-blind eyes too, and how figures are made and written."""

import matplotlib
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


def new_figure(width, height):
    """A figure of so many inches, its parts kept apart."""
    return Figure(figsize=(width, height), layout="constrained")


def save(figure, path):
    """Write a figure as the ending of the path says (.png, .svg, .pdf). The same figure gives the same bytes."""
    options = {"metadata": {"Date": None}} if str(path).endswith(".svg") else {}
    with matplotlib.rc_context({"svg.hashsalt": "tfnmt"}):
        figure.savefig(path, dpi=120, **options)
