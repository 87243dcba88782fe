"""Train a translator on files of sentence pairs, or on the project's own sample corpus."""

import argparse
import functools
from typing import TextIO

from tfnmt.commands.one_process import train_in_process
from tfnmt.commands.parallel_files import add_parallel_files, chosen_parallel_files
from tfnmt.commands.parser import CommandParser
from tfnmt.commands.training_options import (
    add_board_options,
    add_dev_split,
    add_device_options,
    add_directory_options,
    add_setting_options,
    chosen_preset,
    chosen_settings,
    profiled_steps,
    refuse_dry_run,
    refuse_other_preset,
    refuse_other_tokenizers,
    refuse_split_with_resume,
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
    from tfnmt.translation.training import train_translator

    preset, files, dev_files, profile_steps = _chosen(arguments)
    warn_of_unused_settings(preset, arguments.set)
    train = functools.partial(train_translator, preset=preset, training_files=files, dev_files=dev_files)
    return train_in_process(train, arguments, preset, profile_steps)


def _chosen(arguments):
    """The preset, the training and dev files and the steps to profile that the options name, which go together."""
    from tfnmt.training.run_record import started_preset

    refuse_dry_run(arguments)
    settings = chosen_settings(arguments)
    if arguments.resume:
        refuse_split_with_resume(arguments, "source", "target")
        preset = started_preset(arguments.resume, Preset).override(settings)
        if arguments.preset is not None or arguments.config is not None:
            has_tokenizers = preset.training.initial is not None or arguments.records is not None
            made = type(preset.text).model_fields if has_tokenizers else ()
            asked = chosen_preset(find_preset(arguments.preset or "tiny"), arguments, settings)
            refuse_other_preset(arguments, asked, preset, made)
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
