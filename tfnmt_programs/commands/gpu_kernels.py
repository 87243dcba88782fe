"""List what would make a GPU wait, or leave work to the CPU, in every graph of training, search and serving.

No GPU is needed: the graphs are only traced, and looked up in TensorFlow's registry of kernels. It takes a minute.
"""

import argparse
from collections import Counter
from typing import TextIO

from tfnmt.commands.figures import json_line
from tfnmt.commands.parser import CommandParser
from tfnmt.errors import UserError

KINDS = {
    "without_kernel": "operations without a GPU kernel, but for those of strings",
    "of_strings": "operations of strings and tables, on the CPU",
    "sized_by_values": "results whose size the host waits for",
    "copied_to_host": "tensors that the host waits for",
}


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--only", default="", metavar="TEXT", help="graphs whose name begins so, such as search")
    parser.add_argument("--details", action="store_true", help="list what was found, below the counts")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt_programs.graphs.gpu_kernels import examine
    from tfnmt_programs.graphs.traced import graphs_for_processors, traced_graphs

    graphs = [*traced_graphs(), *graphs_for_processors()]
    reports = {name: examine(trace()) for name, trace in graphs if name.startswith(arguments.only)}
    if not reports:
        names = {" ".join(name.split()[:2]).rstrip(",") for name, _ in graphs}
        raise UserError(f"--only {arguments.only}: no graph begins so; these do: {', '.join(sorted(names))}")
    if arguments.json:
        print(json_line({name: _figures(report) for name, report in reports.items()}), file=output)
        return
    width = max(map(len, reports))
    heads = ("operations", *(f"{kind} {place}" for kind in KINDS for place in ("in loops", "outside")))
    for number, head in enumerate(heads, start=1):
        print(f"column {number}: {head.replace('_', ' ')}", file=output)
    for name, report in reports.items():
        figures = [sum(each.values()) for kind in KINDS for each in _by_place(getattr(report, kind))]
        print(f"{name:{width}}" + "".join(f"{figure:7,}" for figure in (report.operations, *figures)), file=output)
    if arguments.details:
        _print_details(reports, output)


def _by_place(counter):
    """(in loops, outside), each how often what was found."""
    return tuple(Counter({f.what: n for f, n in counter.items() if f.in_loop == in_loop}) for in_loop in (True, False))


def _figures(report):
    found = {kind: dict(zip(("in_loops", "outside"), _by_place(getattr(report, kind)), strict=True)) for kind in KINDS}
    return {"operations": report.operations} | found


def _print_details(reports, output):
    for kind, meaning in KINDS.items():
        for place in (0, 1):
            print(f"\n{meaning}, {('in loops', 'outside of loops')[place]}", file=output)
            graphs = Counter(what for report in reports.values() for what in _by_place(getattr(report, kind))[place])
            for what, number in graphs.most_common():
                print(f"{number:5} graphs  {what}", file=output)
