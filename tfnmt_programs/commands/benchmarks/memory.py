"""The memory of a training after every epoch."""

import argparse
from typing import Any

from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.commands.parallel_files import add_parallel_files, chosen_parallel_files
from tfnmt.commands.parser import CommandParser, positive
from tfnmt.errors import UserError


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument("--preset", default="tiny", metavar="P", help="what is trained (default: tiny)")
    parser.add_argument(
        "--encoder",
        choices=ENCODERS,
        help="train a classifier of the task snli, on its sample corpus, rather than a translator",
    )
    parser.add_argument("--epochs", type=positive, metavar="N", help="the same as --set epochs=N (default: 10)")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="change the preset")
    add_parallel_files(parser)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt.threads import share_processors
    from tfnmt.translation.presets import find_preset
    from tfnmt_programs.benchmarks.training_memory import training_memory

    files = chosen_parallel_files(arguments)
    settings = ["epochs=10", *arguments.set] + ([f"epochs={arguments.epochs}"] if arguments.epochs else [])
    if arguments.encoder is None:
        preset = find_preset(arguments.preset).override(settings)
    elif any(files):
        raise UserError("--encoder trains on the sample corpus: leave out the files of pairs")
    else:
        settings += ["task=snli", f"encoder={arguments.encoder}"]
        preset = find_preset(arguments.preset, CLASSIFIER_PRESETS).override(settings)
    share_processors(preset.model.micro_batches)
    return {"preset": arguments.preset, "encoder": arguments.encoder} | training_memory(preset, *files)
