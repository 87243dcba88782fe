"""Train a translator on files of sentence pairs, or on the project's own sample corpus."""

import argparse
import tempfile
from typing import TextIO

from tfnmt.commands.parallel_files import add_parallel_files, chosen_parallel_files
from tfnmt.commands.parser import CommandParser
from tfnmt.commands.training_options import add_board_options, print_best_score, profiled_steps
from tfnmt.configuration import describe
from tfnmt.translation.presets import PRESETS, find_preset


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    keys = describe(*dict(PRESETS["multi30k"]).values())
    parser.epilog = f"keys of --set, with their values in the preset multi30k:\n{keys}"
    parser.add_argument("--output", required=True, metavar="DIR", help="the model directory")
    parser.add_argument("--preset", default="tiny", metavar="NAME", help=f"one of {', '.join(PRESETS)} (default: tiny)")
    add_parallel_files(parser)
    parser.add_argument("--epochs", metavar="N", help="the same as --set epochs=N")
    parser.add_argument("--steps", metavar="N", help="the same as --set steps=N")
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="change the preset; see below",
    )
    parser.add_argument(
        "--initial", metavar="DIR", help="begin with that model's words and weights; the same as --set initial=DIR"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the run in DIR, after a kill at any moment")
    add_board_options(parser)


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.inspection.translation_callbacks import tensorboard_callbacks
    from tfnmt.threads import share_processors
    from tfnmt.translation.training import train_translator

    keys = ("epochs", "steps", "initial")
    settings = [f"{key}={value}" for key in keys if (value := getattr(arguments, key)) is not None]
    preset = find_preset(arguments.preset).override(arguments.set + settings)
    profile_steps = profiled_steps(arguments)
    share_processors(preset.model.micro_batches)
    with tempfile.TemporaryDirectory() as directory:
        files, dev_files = chosen_parallel_files(arguments, directory)
        callbacks = (
            tensorboard_callbacks(arguments.output, preset, dev_files, profile_steps)
            if not arguments.no_board
            else None
        )
        _, progress = train_translator(arguments.output, preset, files, dev_files, arguments.resume, callbacks)
    print_best_score(arguments.output, preset.training.selection, progress, output)
