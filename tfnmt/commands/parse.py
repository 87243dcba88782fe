"""Parse standard input to standard output: a sentence a line in, its tree in binary brackets out, in order.

Brackets in a sentence are left out, and the model finds its own; one with brackets_as_words=true reads and needs them.
"""

import argparse
import sys
from typing import TextIO

from tfnmt.commands.line_display import line_display
from tfnmt.commands.parser import CommandParser, model_directory, positive


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument(
        "--model", type=model_directory, required=True, metavar="DIR", help="the directory of a model that parses"
    )
    parser.add_argument("--batch-size", type=positive, default=64, metavar="N", help="sentences at once (default: 64)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import tfnmt
    from tfnmt.classification.streaming import parse_stream

    model = tfnmt.load(arguments.model, "classifier")
    with line_display("parsing", output) as display:
        for tree in parse_stream(model, sys.stdin.buffer, arguments.batch_size):
            print(tree, file=output, flush=True)
            if display:
                display.advance(1)
