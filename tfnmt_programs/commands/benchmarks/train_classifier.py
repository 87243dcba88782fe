"""Sentence pairs a second in training a classifier that reads trees."""

import argparse
from typing import Any

from tfnmt.commands.parser import CommandParser, positive
from tfnmt_programs.commands.benchmarks.options import (
    add_comparison,
    add_tree_classifier,
    load_before,
    set_defaults,
    set_training_threads,
)


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    add_tree_classifier(parser, batches=10, head_units=1024)
    parser.add_argument("--batch-size", type=positive, default=128, metavar="N", help="pairs at once (default: 128)")
    parser.add_argument(
        "--examples", metavar="F", help="pairs with trees (default: drawn at random, as long as SNLI's)"
    )
    parser.add_argument("--task", default="snli", choices=("snli", "sick", "logic"), help="what the examples are")
    add_comparison(
        parser,
        peers=("torch", "torch-by-level", "batch-1"),
        peer_help="the post's model in PyTorch, the same with its trees in levels, or our own, one pair at a time",
        needs_python=False,
    )
    parser.add_argument("--peer-threads", type=positive, metavar="N", help="threads of the peer (default: as ours)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    unused = "with --peer batch-1" if arguments.peer == "batch-1" else None
    set_defaults(arguments, unused, peer_threads=None, peer_python=None)
    ran = {"peer_name": arguments.peer, "load_before": load_before()}
    set_training_threads(arguments)
    from tfnmt_programs.benchmarks.classifier_training import compare_training

    return compare_training(arguments) | ran
