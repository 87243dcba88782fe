"""Put the same models side by side, as static graphs and define-by-run: whether they are equal, and what each costs.

Writes comparison.md, times.png and graphs.png into the folder --output. The defaults take a minute or two;
--batch-sizes 1 4 16 64 256 --lengths 5 10 20 50 100 is the whole range, and takes long.
"""

import argparse
from pathlib import Path
from typing import TextIO

from tfnmt.commands.figures import json_line
from tfnmt.commands.parser import CommandParser, parallel, positive
from tfnmt.errors import UserError, errors_in

CASES = ("encoder", "decoder", "spinn-pi-nt", "spinn-pi", "spinn", "rl-spinn")


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--output", required=True, metavar="DIR", help="folder that it writes to")
    parser.add_argument("--models", nargs="+", choices=CASES, default=CASES, metavar="M", help=f"of {', '.join(CASES)}")
    parser.add_argument("--units", type=positive, default=64, metavar="N", help="size of their states (default: 64)")
    parser.add_argument(
        "--batch-sizes", type=positive, nargs="+", default=(1, 16), metavar="N", help="sentences (default: 1 16)"
    )
    parser.add_argument(
        "--lengths", type=positive, nargs="+", default=(5, 20), metavar="N", help="words of each (default: 5 20)"
    )
    parser.add_argument("--repetitions", type=positive, default=5, metavar="N", help="of each step (default: 5)")
    parser.add_argument(
        "--peer-python", metavar="F", help="a Python that has torch, to put the same models in PyTorch beside"
    )
    parser.add_argument("--threads", type=parallel, default=2, metavar="N", help="threads of each side (default: 2)")
    parser.add_argument(
        "--dtype", choices=("float32", "float64"), default="float32", help="what both compute in (default: float32)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import dataclasses

    from tfnmt.inspection.figures import save
    from tfnmt_programs.benchmarks.peer_process import require_module
    from tfnmt_programs.commands.benchmarks.options import set_threads
    from tfnmt_programs.graphs.cases import make_cases
    from tfnmt_programs.graphs.comparison import compare
    from tfnmt_programs.graphs.pictures import draw_static_and_by_run, draw_times
    from tfnmt_programs.graphs.report import report
    from tfnmt_programs.graphs.stack_traces import traces

    if arguments.peer_python and arguments.dtype != "float32":
        raise UserError("--peer-python: PyTorch's models are float32; leave out --dtype")
    if arguments.peer_python:
        with errors_in("--peer-python"):
            require_module(arguments.peer_python, "torch")  # before anything is measured

    set_threads(arguments.threads, arguments.threads)

    directory = Path(arguments.output)
    directory.mkdir(parents=True, exist_ok=True)
    cases = make_cases()
    sizes = (arguments.units, sorted(set(arguments.batch_sizes)), sorted(set(arguments.lengths)), arguments.repetitions)
    torch = (arguments.peer_python, arguments.threads) if arguments.peer_python else None
    comparisons = [
        compare(cases[name], *sizes, torch=torch, dtype=arguments.dtype) for name in dict.fromkeys(arguments.models)
    ]
    text = report(comparisons, traces(), arguments.units)
    (directory / "comparison.md").write_text(text, encoding="utf-8")
    save(draw_times(comparisons), directory / "times.png")
    save(draw_static_and_by_run(), directory / "graphs.png")
    if arguments.json:
        figures = {
            comparison.name: dataclasses.asdict(comparison) | {"equal": comparison.equal} for comparison in comparisons
        }
        print(json_line(figures), file=output)
    else:
        print(text, file=output)
