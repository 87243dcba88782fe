"""Draw the core concepts of deep learning, one picture each (PNG and SVG), and say what it shows in numbers."""

import argparse
import functools
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parser import CommandParser, parallel
from tfnmt_programs.concepts import CONCEPTS, find_concept


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("concept", nargs="*", metavar="NAME", help=f"of {', '.join(CONCEPTS)} (default: all)")
    parser.add_argument("--output", required=True, metavar="DIR", help="the folder for the pictures")
    parser.add_argument("--format", nargs="+", default=["png", "svg"], choices=("png", "svg"), help="(default: both)")
    parser.add_argument(
        "--processes", type=parallel, default=1, metavar="N", help="draw N at the same time (default: 1)"
    )


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    names = arguments.concept or CONCEPTS
    for name in names:
        find_concept(name)
    Path(arguments.output).mkdir(parents=True, exist_ok=True)
    draw = functools.partial(_draw, folder=arguments.output, endings=arguments.format)
    if arguments.processes == 1:
        for name in names:
            print(draw(name), file=output)
        return
    from tfnmt.tensorflow_start import process_pool
    from tfnmt.threads import use_threads

    with process_pool(arguments.processes, use_threads, 1) as pool:
        for line in pool.map(draw, names):
            print(line, file=output)


def _draw(name, folder, endings):
    from tfnmt.inspection.figures import save

    figure, sentence = find_concept(name).show()
    for ending in endings:
        save(figure, Path(folder, f"{name}.{ending}"))
    return f"{name}: {sentence}"
