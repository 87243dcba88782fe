"""Which sentence pairs a translator is trained on: options and files that commands have in common."""

import argparse

from tfnmt.commands.parser import CommandParser
from tfnmt.errors import UserError


def add_parallel_files(parser: CommandParser) -> None:
    """Options that name training and dev files."""
    add = parser.add_argument
    add("--source", metavar="F", help="training sentences, or a .tsv of both sides; .gz too (default: the sample)")
    add("--target", metavar="F", help="their translations, line by line")
    add("--dev-source", metavar="F", help="sentences by which the best weights are chosen")
    add("--dev-target", metavar="F", help="their translations, line by line")


def chosen_parallel_files(arguments: argparse.Namespace) -> tuple:
    """(training, dev) `ParallelFiles` that the options name, or else (None, None)."""
    from tfnmt.data.parallel import ParallelFiles

    if arguments.source is None:
        for option in ("target", "dev_source", "dev_target"):
            if getattr(arguments, option) is not None:
                raise UserError(f"--source is missing: --{option.replace('_', '-')} means nothing without it")
        return None, None
    if arguments.dev_source is None:
        raise UserError("--dev-source is missing: pairs that are not trained on, by which the best weights are chosen")
    return (
        ParallelFiles(arguments.source, arguments.target),
        ParallelFiles(arguments.dev_source, arguments.dev_target),
    )
