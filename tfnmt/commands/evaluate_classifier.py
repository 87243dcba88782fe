"""Score a classifier on files of labelled examples, or on the dev part of its task's sample corpus."""

import argparse
import tempfile
from typing import TextIO

from tfnmt.commands.figures import print_figures
from tfnmt.commands.parser import CommandParser, positive


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--model", required=True, metavar="DIR", help="the model directory")
    parser.add_argument("--data", nargs="+", metavar="F", help="labelled examples (default: the sample's dev part)")
    parser.add_argument("--batch-size", type=positive, default=128, metavar="N", help="examples at once (default: 128)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import tfnmt
    from tfnmt.classification.evaluation import evaluate_classifier
    from tfnmt.data.tasks import TASKS

    model = tfnmt.load(arguments.model, "classifier")
    with tempfile.TemporaryDirectory() as directory:
        files = arguments.data or [TASKS[model.configuration.task].write_sample(directory)["dev"]]
        figures = evaluate_classifier(model, files, arguments.batch_size)
    print_figures(figures, arguments.json, output)
