"""Comparisons of static graphs with define-by-run, as Markdown."""

import re
from collections.abc import Sequence

from tfnmt_programs.graphs.comparison import Comparison
from tfnmt_programs.graphs.stack_traces import Trace


def report(comparisons: Sequence[Comparison], traces: Sequence[Trace], units: int) -> str:
    """The comparisons, of models with so many units, and what is shown of a mistake, as one page."""
    return "\n".join(
        (
            "# Static graph and define-by-run, side by side",
            "",
            f"The same layers and weights both ways, states of {units}; a step is outputs and all gradients.",
            "",
            "## Equal, and how long",
            "",
            *_summary(comparisons),
            "",
            "Differences: of outputs the largest of any number, of gradients the norm over the norm. First result: with"
            " tracing. Nodes: of the one static graph, for all batches. Operations: that Python ran, one after the"
            " other, for the largest batch. Lines: without comments and docstrings; the loop's are shared by models.",
            "",
            "## A step",
            "",
            *_steps(comparisons),
            "",
            "![times](times.png)",
            "",
            "## What is shown when a shape is wrong inside the loop",
            "",
            *_traces(traces),
            "",
            "## What was built",
            "",
            "![graphs](graphs.png)",
            "",
        )
    )


def _summary(comparisons):
    rows = []
    for c in comparisons:
        first = c.points[0]
        rows.append(
            (
                c.name,
                "yes" if c.equal else "NO",
                f"{max(point.output_difference for point in c.points):.1e}",
                f"{max(point.gradient_difference for point in c.points):.1e}",
                f"{first.static_first:.2f} / {first.by_run_first:.2f}",
                f"{c.nodes:,}",
                f"{max(point.operations for point in c.points):,}",
                f"{c.model_lines} + {c.loop_lines} / {c.by_run_lines}",
            )
        )
    return _table(
        (
            "model",
            "equal",
            "outputs",
            "gradients",
            "first result, s: static / by run",
            "nodes",
            "operations",
            "lines: static (model + loop) / by run",
        ),
        rows,
    )


def _steps(comparisons):
    rows = [
        (
            c.name,
            point.batch_size,
            point.length,
            f"{1000 * point.static_step:,.2f}",
            f"{1000 * point.by_run_step:,.2f}",
            f"{1000 * c.peer_steps[i]:,.2f}" if c.peer_steps else "–",
            f"{point.by_run_step / point.static_step:.1f}",
            f"{c.peer_steps[i] / point.static_step:.1f}" if c.peer_steps else "–",
            f"{point.static_memory / 1e6:,.1f}",
            f"{point.by_run_memory / 1e6:,.1f}",
        )
        for c in comparisons
        for i, point in enumerate(c.points)
    ]
    return _table(
        (
            "model",
            "batch",
            "words",
            "static, ms",
            "by run, ms",
            "PyTorch, ms",
            "by run over static",
            "PyTorch over static",
            "static, MB",
            "by run, MB",
        ),
        rows,
    )


def _traces(traces):
    rows = [(t.way, t.when, t.error, t.frames, "yes" if t.shows_the_line else "no") for t in traces]
    lines = _table(("way", "it came up", "what it says", "frames", "shows the faulty line"), rows)
    for trace in traces:
        lines += [
            "",
            f"<details><summary>{trace.way}</summary>",
            "",
            "```",
            _shortened(trace.text),
            "```",
            "</details>",
        ]
    return lines


def _shortened(text):
    """Without the folders of this machine, which no one else has."""
    return re.sub(r'File "[^"]*/(?=(?:site-packages|tfnmt|tfnmt_programs|lib)/)', 'File ".../', text.rstrip())


def _table(head, rows):
    cells = [tuple(str(cell).replace("|", "\\|") for cell in row) for row in (head, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], f"|{'---|' * len(head)}", *lines[1:]]
