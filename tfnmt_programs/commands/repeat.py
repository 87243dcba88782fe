"""Repeat a training and its evaluations with several seeds, and write mean, standard deviation and each run in a table.

    tfnmt repeat --seeds 1 2 3 --output RUNS -- train-translator --preset tiny -- evaluate-translator --beam-size 5

What was interrupted goes on when the same command is given again; what is finished is not done again.
"""

import argparse
import itertools
from pathlib import Path
from typing import TextIO

from tfnmt.commands.field_options import field_value
from tfnmt.commands.parser import CommandParser, refuse_repeated
from tfnmt.training.configuration import TrainingConfiguration


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    seed = field_value(TrainingConfiguration, "seed")
    parser.add_argument("--seeds", type=seed, nargs="+", required=True, metavar="S", help="such as 1 2 3")
    parser.add_argument("--output", required=True, metavar="DIR", help="the folder of all runs, with table.md")
    parser.add_argument(
        "commands",
        nargs=argparse.REMAINDER,
        metavar="-- COMMAND",
        help="a training without --output, then, each after --, evaluations without --model",
    )


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt_programs.repetition import Repetition

    refuse_repeated("--seeds", arguments.seeds, "seed")
    groups = itertools.groupby(arguments.commands, lambda word: word == "--")
    training, *evaluations = [list(words) for is_separator, words in groups if not is_separator] or [[]]
    output.write(Repetition(Path(arguments.output), training, evaluations).run(arguments.seeds))
