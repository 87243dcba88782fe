"""Training and searching, beside an earlier version of this project."""

import argparse
from typing import Any

from tfnmt.commands.parser import CommandParser, positive
from tfnmt_programs.commands.benchmarks.options import load_before


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument("--before", required=True, metavar="DIR", help="a checkout of the earlier version")
    parser.add_argument("--works", nargs="+", metavar="WORK", help="only these, by the names that the figures have")
    parser.add_argument(
        "--rounds", type=positive, default=5, metavar="N", help="epochs, or searches, that are measured (default: 5)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt_programs.benchmarks.versions import compare_versions

    figures = {"load_before": load_before()} | compare_versions(arguments.before, arguments.rounds, arguments.works)
    if arguments.json:
        return figures
    flat = {}
    for work, each in figures.items():
        flat |= {f"{work} {name}": value for name, value in each.items()} if isinstance(each, dict) else {work: each}
    return flat
