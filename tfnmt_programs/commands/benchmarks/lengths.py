"""Words a second with long sentences beside short ones, as many words a batch."""

import argparse
from typing import Any

from tfnmt.commands.parser import CommandParser, positive
from tfnmt_programs.commands.benchmarks.options import (
    add_measuring,
    add_tree_classifier,
    load_before,
    set_training_threads,
)


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    add_tree_classifier(parser, batches=5, head_units=16)  # small: short sentences come in more pairs
    parser.add_argument("--words", type=positive, default=3200, metavar="N", help="words in a batch (default: 3200)")
    parser.add_argument(
        "--lengths", type=positive, nargs=2, default=(10, 200), metavar="N", help="short and long (default: 10 200)"
    )
    add_measuring(parser)
    parser.set_defaults(peer="itself", peer_threads=None)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    ran = {"peer_name": arguments.peer, "load_before": load_before()}
    set_training_threads(arguments)
    from tfnmt_programs.benchmarks.classifier_training import compare_lengths

    return compare_lengths(arguments) | ran
