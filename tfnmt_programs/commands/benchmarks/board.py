"""The part of a training run's time that writing for TensorBoard takes."""

import argparse
from typing import Any

from tfnmt.commands.parallel_files import add_parallel_files, chosen_parallel_files
from tfnmt.commands.parser import CommandParser, positive


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument("--preset", default="tiny", metavar="P", help="what is trained (default: tiny)")
    parser.add_argument("--epochs", type=positive, default=2, metavar="N", help="of the run (default: 2)")
    add_parallel_files(parser)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt.translation.presets import find_preset
    from tfnmt_programs.benchmarks.tensorboard_cost import tensorboard_cost

    preset = find_preset(arguments.preset)
    preset = preset.replace(training=preset.training.replace(epochs=arguments.epochs))
    return {"preset": arguments.preset} | tensorboard_cost(preset, *chosen_parallel_files(arguments))
