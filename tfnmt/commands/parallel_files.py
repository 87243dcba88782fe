"""Which sentence pairs a translator is trained on: options and files that commands have in common."""

import argparse
from pathlib import Path
from typing import Any

from tfnmt.commands.parser import CommandParser
from tfnmt.errors import UserError


def add_parallel_files(parser: CommandParser) -> None:
    """Options that name training and dev files."""
    add = parser.add_argument
    add("--source", metavar="F", help="training sentences, or a .tsv of both sides; .gz too (default: the sample)")
    add("--target", metavar="F", help="their translations, line by line")
    add("--records", metavar="DIR", help="instead of both, what tfnmt prepare has written")
    add("--dev-source", metavar="F", help="sentences by which the best weights are chosen")
    add("--dev-target", metavar="F", help="their translations, line by line")


def chosen_parallel_files(arguments: argparse.Namespace, dev_split: int | None = None) -> tuple:
    """(training, dev) pairs that the options name, `ParallelFiles` or, for training, `ParallelRecords`; or else (None,
    None). With `dev_split`, a number, it stands in the place of dev pairs.

    Of a run that is resumed, those that have been moved may be named alone; the others are None.
    """
    from tfnmt.data.parallel import ParallelFiles

    training = chosen_training_pairs(arguments)
    dev = None if arguments.dev_source is None else ParallelFiles(arguments.dev_source, arguments.dev_target)
    if getattr(arguments, "resume", None):
        for option, files in (("", training), ("dev-", dev)):
            if files is None and getattr(arguments, f"{option}target".replace("-", "_")) is not None:
                raise UserError(f"--{option}source is missing: --{option}target means nothing without it")
        return training, dev
    if training is None:
        for option in ("target", "dev_source", "dev_target", "dev_split"):
            if getattr(arguments, option, None) is not None:
                raise UserError(f"--source is missing: --{option.replace('_', '-')} means nothing without it")
        return None, None
    if dev_split is not None:
        for option in ("records", "dev_source", "dev_target"):
            if getattr(arguments, option) is not None:
                other = f"--{option.replace('_', '-')}"
                raise UserError(f"--dev-split: takes the dev pairs from --source; leave out {other}")
        return training, dev_split
    if dev is None:
        split = "" if arguments.records else "; --dev-split 1000 holds out 1,000 pairs of --source"
        raise UserError(
            f"--dev-source is missing: pairs that are not trained on, by which the best weights are chosen{split}"
        )
    return training, dev


def chosen_training_pairs(arguments: argparse.Namespace) -> Any:
    """The pairs that --source and --target or --records name, or None."""
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.data.records import ParallelRecords

    if arguments.records is None:
        return None if arguments.source is None else ParallelFiles(arguments.source, arguments.target)
    if arguments.source is not None or arguments.target is not None:
        raise UserError("--records takes the place of --source and --target: name the one or the others")
    return ParallelRecords(Path(arguments.records))
