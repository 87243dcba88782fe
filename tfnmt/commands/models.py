"""List the models that come with the library: `--model NAME` and `tfnmt.load("NAME")` use them."""

import argparse
from typing import TextIO

from tfnmt.commands.parser import CommandParser
from tfnmt.pretrained import about, pretrained_names

IMPORT_TENSORFLOW = False


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    for name in pretrained_names():
        model = about(name)
        scores = ", ".join(f"{measure} {score:g}" for measure, score in model.scores.items())
        print(f"{name}\n  {model.title}\n  {scores}\n  {model.command}", file=output)
