"""What the commands that work on a corpus have in common."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tfnmt.commands.parser import CommandParser, model_directory, parallel, positive

if TYPE_CHECKING:
    from tfnmt.corpus.classification import ClassifierTask
    from tfnmt.corpus.tasks import Task


def add_corpus_options(parser: CommandParser) -> None:
    """Where the lines are, where the output goes, and how many processes work."""
    add = parser.add_argument
    add("--input", required=True, nargs="+", metavar="F", help="files or globs; .gz and .zst too")
    add("--output", required=True, metavar="DIR", help="a folder for the output: a file for each, of the same name")
    add(
        "--replicas",
        type=parallel,
        metavar="N",
        help="processes, each with the model (default: one on each GPU; without one, as many as --threads lets)",
    )
    add("--threads", type=parallel, default=1, metavar="N", help="processors of each process (default: 1)")


def add_classifier_options(parser: CommandParser) -> None:
    """Which classifier reads the lines, and how many at once."""
    add = parser.add_argument
    add("--model", type=model_directory, required=True, metavar="DIR", help="the model directory")
    add("--batch-size", type=positive, default=64, metavar="N", help="lines at once (default: 64)")
    words = "a sentence with more is reported, its output empty (default: 1000)"
    add("--maximum-words", type=positive, default=1000, metavar="N", help=words)


def classifier_task(kind: "type[ClassifierTask]", arguments: argparse.Namespace) -> "ClassifierTask":
    """The task of this kind by the options of `add_classifier_options`.

    Raises:
        UserError: the model is no classifier.
    """
    from tfnmt.training.model_directory import require_kind

    require_kind(arguments.model, "classifier")
    return kind(
        model=str(Path(arguments.model).absolute()),
        batch_size=arguments.batch_size,
        maximum_words=arguments.maximum_words,
    )


def process(task: "Task", arguments: argparse.Namespace, output: TextIO) -> None:
    """Do the task with every line, and print how many there were."""
    from tfnmt.corpus.process import find_inputs, process_corpus

    inputs = find_inputs(arguments.input, arguments.output)
    lines = process_corpus(task, inputs, arguments.output, arguments.replicas, arguments.threads)
    print(f"{arguments.output}: files: {len(inputs):,}, lines done now: {lines:,}", file=output)
