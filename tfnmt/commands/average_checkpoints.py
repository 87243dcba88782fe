"""Average the weights of a run's last checkpoints, and leave them as a model of its own."""

import argparse
from typing import TextIO

from tfnmt.commands.parser import CommandParser, positive


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--model", required=True, metavar="DIR", help="the model directory, with the run's checkpoints")
    parser.add_argument("--last", required=True, type=positive, metavar="N", help="how many of the newest checkpoints")
    parser.add_argument("--output", required=True, metavar="DIR", help="the model directory to write")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.averaging import average_checkpoints

    names = average_checkpoints(arguments.model, arguments.last, arguments.output, arguments.command_line)
    print(f"{arguments.output}: the mean of {', '.join(names)}", file=output)
