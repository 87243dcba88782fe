"""Draw ListOps: lines of value TAB expression, no expression twice, the same ones whenever the seed is the same."""

import argparse
from itertools import islice
from typing import TextIO

from tfnmt.commands.parser import CommandParser, positive
from tfnmt.data.tasks.listops import MAXIMUM_DEPTH, draw_lines, expressions


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--output", required=True, metavar="F", help="the file to write; it is written whole or not")
    parser.add_argument("--count", required=True, type=positive, metavar="N", help="lines")
    parser.add_argument("--seed", required=True, type=int, metavar="S", help="decides which")
    parser.add_argument(
        "--levels",
        type=positive,
        default=MAXIMUM_DEPTH - 1,
        metavar="N",
        help="lists within each other at most; 1: lists of digits alone (default: %(default)s, as the official"
        " generator)",
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="F",
        help="a ListOps file whose expressions must not occur, such as the test set; may be given several times",
    )


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.files import atomic_write

    exclude = {text for path in arguments.exclude for text in expressions(path)}
    lines = islice(draw_lines(arguments.seed, exclude, arguments.levels), arguments.count)
    with (
        atomic_write(arguments.output, way_out="name another --output") as part,
        open(part, "w", encoding="utf-8") as file,
    ):
        file.writelines(line + "\n" for line in lines)
