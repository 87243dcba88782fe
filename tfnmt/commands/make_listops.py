"""Draw ListOps: lines of value TAB expression, no expression twice, the same ones whenever the seed is the same."""

import argparse
from itertools import islice
from typing import TextIO

from tfnmt.commands.parser import CommandParser, not_negative, positive
from tfnmt.data.tasks.listops import ARGUMENTS, MAXIMUM_DEPTH, draw_lines, expressions
from tfnmt.errors import UserError


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--output", required=True, metavar="F", help="the file to write; it is written whole or not")
    parser.add_argument("--count", required=True, type=positive, metavar="N", help="lines")
    parser.add_argument("--seed", required=True, type=not_negative, metavar="S", help="decides which")
    parser.add_argument(
        "--levels",
        type=positive,
        default=MAXIMUM_DEPTH - 1,
        metavar="N",
        help="lists within each other at most; 1: lists of digits alone (default: %(default)s, as the official"
        " generator; a digit alone is an expression, too)",
    )
    for name, what, default in (
        ("--arguments", "arguments of a list", f"{ARGUMENTS[0]} {ARGUMENTS[1]}, as the official generator"),
        ("--words", "words of an expression", "any number"),
    ):
        text = f"the fewest and the most {what} (default: {default})"
        parser.add_argument(name, nargs=2, type=positive, metavar=("MIN", "MAX"), help=text)
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="F",
        help="a ListOps file whose expressions must not occur, such as the test set; may be given several times",
    )


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.data.lines import create_lines
    from tfnmt.data.progress import log_progress
    from tfnmt.files import atomic_write

    exclude = {text for path in arguments.exclude for text in expressions(path)}
    ranges = {name: tuple(given) for name in ("arguments", "words") if (given := getattr(arguments, name))}
    for name, (fewest, most) in ranges.items():
        if fewest > most:
            raise UserError(f"--{name} {fewest} {most}: the first number must not be greater than the second")
    lines = islice(draw_lines(arguments.seed, exclude, arguments.levels, **ranges), arguments.count)
    with (
        atomic_write(arguments.output, advice="name another --output") as part,
        create_lines(part) as file,
    ):
        file.writelines(line.encode() + b"\n" for line in log_progress(lines, "drawing", arguments.count))
