"""The requests that take a server the most time and memory, of those that it does not refuse, for each signature."""

import argparse
import tempfile
from typing import Any

from tfnmt.commands.parser import CommandParser, positive


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument(
        "--models",
        metavar="DIR",
        help="a folder of servables (default: untrained models of the presets multi30k, with a beam of 5, and snli)",
    )
    parser.add_argument(
        "--trials", type=positive, default=40, metavar="N", help="requests tried for each signature (default: 40)"
    )
    parser.add_argument("--seed", type=positive, default=1, metavar="N", help="of the search (default: 1)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt_programs.benchmarks.worst_requests import worst_requests

    if arguments.models:
        return worst_requests(arguments.models, arguments.trials, arguments.seed)
    with tempfile.TemporaryDirectory() as directory:
        _export_untrained(directory)
        return worst_requests(directory, arguments.trials, arguments.seed)


def _export_untrained(directory):
    """Random weights: the search for a translation does not end before the greatest length."""
    from tfnmt.classification.presets import CLASSIFIER_PRESETS
    from tfnmt.models import create_servable
    from tfnmt.serving.export import export
    from tfnmt.translation.presets import PRESETS
    from tfnmt_programs.benchmarks.untrained import untrained_classifier, untrained_translator

    translator = untrained_translator(PRESETS["multi30k"].model, vocabulary_size=6000)
    export(create_servable([translator]), directory, "multi30k")
    for encoder in ("spinn", "spinn-pi", "spinn-pi-nt"):
        configuration = CLASSIFIER_PRESETS["snli"].model.replace(encoder=encoder)
        export(create_servable([untrained_classifier(configuration, vocabulary_size=20_000)]), directory, encoder)
