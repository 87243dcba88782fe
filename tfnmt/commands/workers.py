"""Where a training runs: in this process, or in workers that Ray starts."""

import argparse
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from tfnmt.commands.run import logging_to_standard_error
from tfnmt.commands.training_options import MAX_FAILURES
from tfnmt.errors import UserError
from tfnmt.tensorflow_start import import_tensorflow

OF_NEW_RUNS = (
    *("output", "preset", "config", "epochs", "steps", "initial", "dev_split"),
    *("task", "encoder", "vectors", "words"),
)
"""Options that a run has of its own once it has begun, and --set."""

DIVIDED = ("train", "source", "target", "records")
"""Options whose files --dev-split has divided; a resumed run reads the parts."""

Train = Callable[[argparse.Namespace], str | None]


def run_training(train: Train, arguments: argparse.Namespace, output: TextIO) -> None:
    """Train, and print the line that tells the best score.

    Args:
        train: trains in one process as the options say; a function of a module.
        arguments: the options, those of `add_device_options` among them.
        output: where the line goes.

    Raises:
        UserError: `--workers` stands beside another strategy, or TF_CONFIG; `--max-failures` stands without it; what
            `train` raises.
    """
    if arguments.workers is None:
        if arguments.max_failures is not None:
            raise UserError("--max-failures: means nothing without --workers, which Ray starts again")
        line = train(arguments)
    else:
        if arguments.strategy not in (None, "multiworker"):
            raise UserError(f"--workers {arguments.workers}: goes with --strategy multiworker, or none given")
        if os.environ.get("TF_CONFIG"):
            raise UserError("--workers: TF_CONFIG names the workers already; leave out the one, or unset the other")
        from tfnmt.training.ray_workers import train_by_ray

        directory = Path(arguments.resume or arguments.output)
        work = functools.partial(_in_worker, train, arguments)
        max_failures = MAX_FAILURES if arguments.max_failures is None else arguments.max_failures
        line = train_by_ray(work, directory, arguments.workers, max_failures)
    if line is not None:
        print(line, file=output)


def _in_worker(train: Train, arguments: argparse.Namespace, again: bool) -> str | None:
    """In a worker: train, or go on with the run that an attempt before has begun."""
    from tfnmt.training.checkpoints import checkpoint_names
    from tfnmt.training.model_directory import CHECKPOINTS

    options = vars(arguments) | {"strategy": "multiworker"}
    if again and arguments.output and checkpoint_names(Path(arguments.output, CHECKPOINTS)):
        left_out = OF_NEW_RUNS + (DIVIDED if options.get("dev_split") is not None else ())
        options |= {"resume": arguments.output, "set": []} | {name: None for name in left_out if name in options}
    import_tensorflow()
    with logging_to_standard_error():
        return train(argparse.Namespace(**options))
