"""Draw the core concepts of deep learning, one picture each (PNG and SVG), and say what it shows in numbers."""

import argparse
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parser import CommandParser
from tfnmt_programs.concepts import CONCEPTS, find_concept


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("concept", nargs="*", metavar="NAME", help=f"of {', '.join(CONCEPTS)} (default: all)")
    parser.add_argument("--output", required=True, metavar="DIR", help="the folder for the pictures")
    parser.add_argument("--format", nargs="+", default=["png", "svg"], choices=("png", "svg"), help="(default: both)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.inspection.figures import save

    concepts = {name: find_concept(name) for name in arguments.concept or CONCEPTS}
    Path(arguments.output).mkdir(parents=True, exist_ok=True)
    for name, concept in concepts.items():
        figure, sentence = concept.show()
        for ending in arguments.format:
            save(figure, Path(arguments.output, f"{name}.{ending}"))
        print(f"{name}: {sentence}", file=output)
