"""A picture of a classifier's confusion matrix."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import new_figure, plain_text


@plain_text()
def draw_confusion(matrix: np.ndarray, labels: Sequence[str]) -> Figure:
    """Draw how often each label was given each label.

    Args:
        matrix: int [labels, labels], rows are right labels, columns predicted ones.
        labels: their names.
    """
    size = 2.0 + 0.6 * len(labels)
    figure = new_figure(size + 0.8, size)
    axes = figure.add_subplot()
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(matrix):
        color = "white" if shares[row, column] > 0.5 else "black"
        axes.text(column, row, f"{count:,}", ha="center", va="center", color=color)
    axes.set_xticks(range(len(labels)), labels, rotation=45, ha="right")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xlabel("predicted")
    axes.set_ylabel("label")
    return figure
