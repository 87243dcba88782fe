"""Take pictures of TensorBoard's tabs, on a run's logs, with a Chromium that shows no window (docs/tensorboard.md)."""

import argparse
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parser import CommandParser

TABS = ("scalars", "images", "text", "projector", "graphs")


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--model", required=True, metavar="DIR", help="a translator's directory, with its logs")
    parser.add_argument("--output", required=True, metavar="DIR", help="where board-TAB.png is written")
    parser.add_argument("--tabs", nargs="+", default=TABS, choices=TABS, metavar="TAB", help=f"of {', '.join(TABS)}")
    parser.add_argument("--chromium", default="chromium", metavar="F", help="the browser (default: chromium)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.inspection.tensorboard import LOGS
    from tfnmt_programs.figures.screenshots import take_screenshots

    for path in take_screenshots(Path(arguments.model, LOGS), arguments.tabs, arguments.output, arguments.chromium):
        print(path, file=output)
