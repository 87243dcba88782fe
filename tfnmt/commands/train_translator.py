"""Train a translator on files of sentence pairs, or on the project's own sample corpus."""

import argparse
from typing import TextIO

from tfnmt.commands.parallel_files import add_parallel_files, chosen_parallel_files
from tfnmt.commands.parser import CommandParser
from tfnmt.commands.training_options import (
    add_board_options,
    add_dev_split,
    add_device_options,
    add_directory_options,
    add_setting_options,
    best_score,
    chosen_preset,
    chosen_settings,
    profiled_steps,
    refuse_dry_run,
    refuse_other_tokenizers,
    refuse_with_resume,
    warn_of_unreached,
)
from tfnmt.commands.unused_settings import warn_of_unused_settings
from tfnmt.commands.workers import run_training
from tfnmt.configuration import describe
from tfnmt.translation.presets import PRESETS, Preset, find_preset


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    keys = describe(*dict(PRESETS["tiny"]).values())
    parser.epilog = f"keys of --set, with their values in the preset tiny; --dry-run prints those of a run:\n{keys}"
    add_directory_options(parser)
    parser.add_argument("--preset", metavar="NAME", help=f"one of {', '.join(PRESETS)} (default: tiny)")
    add_parallel_files(parser)
    add_dev_split(parser)
    add_setting_options(parser)
    add_device_options(parser)
    add_board_options(parser)


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    if arguments.workers is not None:
        _chosen(arguments)  # so that mistakes are told before Ray starts
    run_training(train, arguments, output)


def train(arguments: argparse.Namespace) -> str | None:
    """Train as the options say, in this process; the line that tells the best score, in the process that scores."""
    from tfnmt.inspection.translation_callbacks import tensorboard_callbacks
    from tfnmt.threads import share_processors
    from tfnmt.training.dry_run import dry_run
    from tfnmt.training.strategies import connect
    from tfnmt.translation.training import train_translator

    directory = arguments.resume or arguments.output
    preset, files, dev_files, profile_steps = _chosen(arguments)
    warn_of_unused_settings(preset, arguments.set)
    share_processors(preset.model.micro_batches)
    replicas = connect(arguments.strategy or "none")
    if arguments.dry_run:
        return dry_run(
            lambda folder, watch: train_translator(folder, preset, files, dev_files, False, watch, replicas),
            preset.training,
        )
    callbacks = None if arguments.no_board else tensorboard_callbacks(directory, preset, profile_steps)
    _, progress = train_translator(
        directory, preset, files, dev_files, bool(arguments.resume), callbacks, replicas, arguments.command_line
    )
    warn_of_unreached(profile_steps, progress)
    return best_score(directory, preset.training.selection, progress) if replicas.is_chief else None


def _chosen(arguments):
    """The preset, the training and dev files and the steps to profile that the options name, which go together."""
    from tfnmt.training.run_record import started_preset

    refuse_dry_run(arguments)
    settings = chosen_settings(arguments)
    if arguments.resume:
        refuse_with_resume(arguments, "preset", "config", "initial", "dev_split")
        preset = started_preset(arguments.resume, Preset).override(settings)
    else:
        base = find_preset(arguments.preset or "tiny")
        preset = chosen_preset(base, arguments, settings)
    files, dev_files = chosen_parallel_files(arguments, arguments.dev_split)
    if not arguments.resume:
        _refuse_other_text(preset, base, files if arguments.records else None)
    return preset, files, dev_files, profiled_steps(arguments)


def _refuse_other_text(preset, base, records):
    """Raise `UserError` if options ask for other tokenizers than those of records or of a model to begin with."""
    from tfnmt.training.preparation import initial_preset

    if records is not None:
        refuse_other_tokenizers(preset.text, base.text, dict(records.index.text), records.directory)
    elif preset.training.initial is not None:
        refuse_other_tokenizers(preset.text, base.text, dict(initial_preset(preset).text), preset.training.initial)
