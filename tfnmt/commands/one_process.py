"""A training in this process, once its options have been read."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfnmt.commands.training_options import best_score, warn_of_unprofiled


def train_in_process(
    train: Callable[..., Any],
    arguments: argparse.Namespace,
    preset: Any,
    profile_steps: tuple[int, int] | None,
) -> str | None:
    """Train as the options say, or begin to with `--dry-run`.

    Args:
        train: `train_translator` or `train_classifier`, with all arguments but those that are the same for both:
            `directory`, `resume`, `make_callbacks`, `replicas` and `command`.
        arguments: the options.
        preset: all that the run depends on, but the data.
        profile_steps: see `profiled_steps`.

    Returns:
        What is to be printed: the line that tells the best score, in the process that scores, None in others; with
        `--dry-run`, what `dry_run` tells.
    """
    from tfnmt.inspection.callbacks import tensorboard_callbacks
    from tfnmt.threads import share_processors
    from tfnmt.training.checkpoints import checkpoint_names, saved_progress
    from tfnmt.training.dry_run import dry_run
    from tfnmt.training.model_directory import CHECKPOINTS
    from tfnmt.training.strategies import connect

    share_processors(preset.model.micro_batches)
    replicas = connect(arguments.strategy or "none")
    if arguments.dry_run:
        return dry_run(
            lambda folder, callbacks: train(folder, make_callbacks=callbacks, replicas=replicas), preset.training
        )
    directory = arguments.resume or arguments.output
    names = checkpoint_names(Path(directory, CHECKPOINTS))
    steps_before = saved_progress(Path(directory, CHECKPOINTS)).steps if names and profile_steps else 0
    _, progress = train(
        directory,
        resume=bool(arguments.resume),
        make_callbacks=None if arguments.no_board else tensorboard_callbacks(directory, preset, profile_steps),
        replicas=replicas,
        command=arguments.command_line,
    )
    warn_of_unprofiled(profile_steps, steps_before, progress.steps)
    return best_score(directory, preset.training.selection, progress) if replicas.is_chief else None
