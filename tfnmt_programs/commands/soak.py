"""Train under random kills, SIGTERM and full disks; compare every tensor with those of an undisturbed run."""

import argparse
import tempfile
from pathlib import Path
from typing import TextIO

from tfnmt.commands.figures import print_figures
from tfnmt.commands.parser import CommandParser, positive

CASES = ("float32", "float32_micro_batches", "bfloat16", "accumulation_average", "spinn", "rl-spinn")


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--kills", type=positive, default=20, metavar="N", help="of each training (default: 20)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of kinds and moments (default: 1)")
    parser.add_argument("--cases", nargs="+", default=CASES, choices=CASES, metavar="C", help=f"of {', '.join(CASES)}")
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="of each training (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each training")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt_programs.soak.training import soak

    equal = True
    for case in arguments.cases:
        with tempfile.TemporaryDirectory() as folder:
            figures = {"case": case} | soak(case, Path(folder), arguments.kills, arguments.seed, arguments.workers)
        print_figures(figures, arguments.json, output)
        output.flush()
        equal &= not figures["differences"]
    if not equal:
        raise SystemExit(1)
