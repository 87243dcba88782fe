"""The memory of a translator's training after every epoch."""

import argparse
from typing import Any

from tfnmt.commands.parallel_files import add_parallel_files, chosen_parallel_files
from tfnmt.commands.parser import CommandParser, positive


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument("--preset", default="tiny", metavar="P", help="what is trained (default: tiny)")
    parser.add_argument("--epochs", type=positive, default=10, metavar="N", help="of the run (default: 10)")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="change the preset")
    add_parallel_files(parser)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt.threads import share_processors
    from tfnmt.translation.presets import find_preset
    from tfnmt_programs.benchmarks.training_memory import training_memory

    preset = find_preset(arguments.preset).override([*arguments.set, f"epochs={arguments.epochs}"])
    share_processors(preset.model.micro_batches)
    return {"preset": arguments.preset} | training_memory(preset, *chosen_parallel_files(arguments))
