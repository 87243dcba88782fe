"""The curves of runs over each other."""

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tfnmt.inspection.figures import color_and_marker, new_figure, plain_text
from tfnmt_programs.report.runs import Run

NO_MEASURES = ("epoch", "steps", "seconds", "learning_rate")
COLUMNS = 3


@plain_text()
def draw_curves(runs: Sequence[Run]) -> Figure:
    """A figure with a panel for each measure: a line for each run, over its epochs; dotted, that of training data.

    Args:
        runs: with a history each.
    """
    every = dict.fromkeys(name for run in runs for row in run.history for name in row if name not in NO_MEASURES)
    measures = list(dict.fromkeys(name.removeprefix("dev_") for name in every))
    rows = -(-len(measures) // COLUMNS)
    entry = 0.7 + 0.09 * max(len(run.name) for run in runs)  # inches of the legend: a line, the name, a space
    width = max(3.6 * min(COLUMNS, len(measures)), entry)
    ncols = min(4, int(width / entry))
    figure = new_figure(width, 2.6 * rows + 0.4 + 0.2 * ((len(runs) - 1) // ncols))
    panels = figure.subplots(rows, min(COLUMNS, len(measures)), squeeze=False).ravel()
    for axes in panels[len(measures) :]:
        axes.axis("off")
    for axes, measure in zip(panels, measures, strict=False):
        for i, run in enumerate(runs):
            style = _style(i)
            _draw_line(axes, run, f"dev_{measure}", **style)
            _draw_line(axes, run, measure, **style | {"linestyle": ":", "markersize": 2})
        axes.set_title(measure.replace("_", " "), fontsize=10)
        axes.grid(alpha=0.3)
        axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)  # else fractions of the only epoch
    for axes in panels[max(0, len(measures) - COLUMNS) : len(measures)]:
        axes.set_xlabel("epoch")
    if len(runs) > 1:
        handles = [Line2D([], [], **_style(i)) for i in range(len(runs))]
        figure.legend(handles, [run.name for run in runs], loc="outside upper left", ncols=ncols, frameon=False)
    return figure


def _style(i):
    color, marker = color_and_marker(i)
    return {"color": color, "marker": marker, "markersize": 4, "linewidth": 1.4}


def _draw_line(axes, run, measure, **style):
    points = [(row["epoch"], row[measure]) for row in run.history if measure in row]
    if points:
        axes.plot(*zip(*points, strict=True), **style)
