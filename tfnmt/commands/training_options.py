"""What training commands have in common: options about TensorBoard, and the line that they print."""

import argparse
from typing import Any, TextIO

from tfnmt.commands.parser import CommandParser
from tfnmt.errors import UserError


def add_board_options(parser: CommandParser) -> None:
    """Options about TensorBoard."""
    parser.add_argument("--no-board", action="store_true", help="write nothing for TensorBoard to DIR/logs")
    parser.add_argument("--profile-steps", metavar="A-B", help="let TensorFlow's profiler watch these batches")


def profiled_steps(arguments: argparse.Namespace) -> tuple[int, int] | None:
    """ "A-B" → (A, B), or None if not asked for."""
    text = arguments.profile_steps
    if text is None:
        return None
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        raise UserError(f"--profile-steps {text}: should be A-B, whole numbers with 1 <= A <= B, such as 20-30")
    if arguments.no_board:
        raise UserError("--profile-steps writes for TensorBoard: leave out --no-board")
    return int(first), int(last)


def print_best_score(directory: str, selection: str, progress: Any, output: TextIO) -> None:
    """Print the best dev score of a run's `Progress`, by the measure that the weights are selected by."""
    best = f"best dev_{selection} {abs(progress.best_score):.4f}, of epoch {progress.best_epoch}"
    print(f"{directory}: {best}", file=output)
