"""Write a report on runs: one HTML file with their settings, curves and scores, and what they make of some sentences.

Runs of one kind on the same data are laid over each other. The file needs no other one, and loads nothing.
"""

import argparse
from pathlib import Path
from typing import TextIO

from tfnmt.commands.field_options import add_field
from tfnmt.commands.parser import CommandParser, model_directory, output_file, picture, positive
from tfnmt.commands.search_options import add_bleu_tokenize
from tfnmt.errors import UserError
from tfnmt.translation.search_configuration import SearchConfiguration


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    add = parser.add_argument
    add("runs", nargs="+", type=model_directory, metavar="DIR", help="a model directory, or the name of a model")
    add(
        "--output",
        type=output_file,
        default="report.html",
        metavar="F",
        help="the file to write (default: report.html)",
    )
    meaning = "also draw the beginning of the page, by Chromium, as .png"
    add("--picture", type=picture(".png"), metavar="F", help=meaning)
    add("--source", metavar="F", help="sentences to translate (default: each run's dev data)")
    add("--target", metavar="F", help="their reference translations, line by line")
    add("--data", nargs="+", metavar="F", help="labelled examples to classify (default: each run's dev data)")
    add("--examples", type=positive, default=5, metavar="N", help="how many of the best and worst (default: 5)")
    add_field(parser, SearchConfiguration, "beam_size")
    add_bleu_tokenize(parser)


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.classification.presets import ClassifierPreset
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.files import write_file
    from tfnmt.translation.presets import Preset
    from tfnmt_programs.report.report import report
    from tfnmt_programs.report.runs import read_runs

    if arguments.target and not arguments.source:
        raise UserError("--source is missing: the sentences that --target translates")
    pairs = ParallelFiles(arguments.source, arguments.target) if arguments.source else None
    runs = read_runs(arguments.runs)
    for option, value, kind in (("source", pairs, Preset.kind), ("data", arguments.data, ClassifierPreset.kind)):
        if value and kind not in [run.kind for run in runs]:
            raise UserError(f"--{option} is for a {kind}, and none is named")
    page = report(
        runs, pairs, arguments.data, arguments.examples, arguments.beam_size, tokenize=arguments.bleu_tokenize
    )
    write_file(Path(arguments.output), page, "name another --output")
    print(arguments.output, file=output)
    if arguments.picture:
        _draw(Path(arguments.output), arguments.picture)


def _draw(page, file):
    """Draw the beginning of the page, twice as much as a window shows."""
    from tfnmt_programs.figures.browser import SIZE, open_browser, set_size
    from tfnmt_programs.figures.screenshots import save_screenshot

    width, height = SIZE
    with open_browser() as browser:
        set_size(browser, width, 2 * height)
        browser.get(page.resolve().as_uri())
        save_screenshot(browser, file)
