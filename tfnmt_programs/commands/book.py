"""Print the pages that retell the three posts as one PDF with all pictures, by a Chromium that shows no window."""

import argparse
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parser import CommandParser, output_file
from tfnmt.errors import UserError


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--output", type=output_file, required=True, metavar="F", help="the .pdf")
    meaning = "the folder of the pages (default: docs, which only a checkout has)"
    parser.add_argument("--pages", default="docs", metavar="DIR", help=meaning)
    parser.add_argument("--chromium", default="chromium", metavar="F", help="the browser (default: chromium)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt_programs.book import write_book

    if not Path(arguments.pages).is_dir():
        raise UserError(f"{arguments.pages}: no such folder; --pages names that of the pages, docs of a checkout")
    write_book(arguments.pages, arguments.output, chromium=arguments.chromium)
    print(f"{arguments.output}: {Path(arguments.output).stat().st_size / 1e6:.1f} MB", file=output)
