"""How fast a large corpus becomes records, batches and a shortlist, and whether the memory stays."""

import argparse
import contextlib
import tempfile
from pathlib import Path
from typing import Any

from tfnmt.commands.parser import CommandParser, picture, positive


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument(
        "--pairs", type=positive, default=1_000_000, metavar="N", help="that are generated (default: 1000000)"
    )
    parser.add_argument("--files", type=positive, default=4, metavar="N", help="that they are in (default: 4)")
    parser.add_argument("--preset", default="multi30k", metavar="P", help="whose step is timed (default: multi30k)")
    parser.add_argument("--directory", metavar="DIR", help="where the files go, and stay (default: a temporary one)")
    meaning = "draw the memory over time into this file, .png or .svg"
    parser.add_argument("--figure", type=picture(".png", ".svg"), metavar="F", help=meaning)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt.threads import share_processors
    from tfnmt.translation.presets import find_preset
    from tfnmt_programs.benchmarks.preparing import draw_memory, prepare_and_use

    preset = find_preset(arguments.preset)
    share_processors(preset.model.micro_batches)
    with contextlib.ExitStack() as stack:
        directory = Path(arguments.directory or stack.enter_context(tempfile.TemporaryDirectory()))
        directory.mkdir(parents=True, exist_ok=True)
        figures, samples = prepare_and_use(directory, preset, arguments.pairs, arguments.files)
    if arguments.figure:
        draw_memory(samples, arguments.pairs).savefig(arguments.figure, dpi=100)
    return figures
