"""How fast a large file of pairs with trees becomes batches."""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from tfnmt.commands.parser import CommandParser, positive
from tfnmt.data.tasks import TASKS


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument("--examples", metavar="F", help="the file (default: one as long as SNLI's is generated)")
    pairs = [name for name, task in TASKS.items() if task.sentences == 2]
    parser.add_argument("--task", default="snli", choices=pairs, help="what it holds (default: snli)")
    parser.add_argument(
        "--count", type=positive, default=550_000, metavar="N", help="pairs of a generated file (default: 550000)"
    )
    parser.add_argument("--batch-size", type=positive, default=128, metavar="N", help="pairs at once (default: 128)")
    parser.add_argument("--batches", type=positive, default=1000, metavar="N", help="that are timed (default: 1000)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt_programs.benchmarks.reading_speed import reading_speed, write_pairs

    with tempfile.TemporaryDirectory() as directory:
        path = arguments.examples
        if path is None:
            path = Path(directory, "pairs.jsonl")
            write_pairs(path, arguments.count)
        return reading_speed(path, arguments.task, arguments.batch_size, arguments.batches)
