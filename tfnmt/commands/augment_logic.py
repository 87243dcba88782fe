"""Copy pairs of formulas with renamed variables and exchanged sides: more to train on, and every line still true."""

import argparse
from typing import TextIO

from tfnmt.commands.parser import CommandParser, not_negative, positive


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--input", required=True, metavar="F", help="lines of relation TAB formula TAB formula")
    parser.add_argument("--output", required=True, metavar="F", help="the file to write; it is written whole or not")
    parser.add_argument("--copies", required=True, type=positive, metavar="N", help="of each line, in random order")
    parser.add_argument("--seed", required=True, type=not_negative, metavar="S", help="decides the names and the order")
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="F",
        help="a file whose lines must not occur, such as a dev or test set; its pairs may, under other names or with"
        " exchanged sides; may be given several times",
    )


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.data.lines import create_lines, read_lines
    from tfnmt.data.tasks.logic import renamed_copies
    from tfnmt.errors import UserError
    from tfnmt.files import atomic_write

    exclude = {line for path in arguments.exclude for line in read_lines(path)}
    lines = renamed_copies(arguments.input, arguments.copies, arguments.seed, exclude)
    if not lines:
        raise UserError(f"{arguments.input}: no line is left: --exclude has them all")
    with (
        atomic_write(arguments.output, advice="name another --output") as part,
        create_lines(part) as file,
    ):
        file.writelines(line.encode() + b"\n" for line in lines)
