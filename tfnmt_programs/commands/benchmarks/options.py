"""Options that several works have in common."""

import argparse
import os
import sys
from typing import Any

from tfnmt.classification.encoders import ENCODERS
from tfnmt.commands.parser import CommandParser, parallel, positive
from tfnmt.errors import UserError


def add_comparison(
    parser: CommandParser,
    peers: tuple[str, ...],
    peer_help: str = "the other toolkit",
    needed: bool = True,
    needs_python: bool = True,
) -> None:
    """What all works have that are done beside another."""
    parser.add_argument("--peer", required=needed, choices=peers, help=peer_help)
    parser.add_argument(
        "--peer-python", required=needed and needs_python, metavar="F", help="a Python that has the peer installed"
    )
    add_measuring(parser)


def add_measuring(parser: CommandParser) -> None:
    """What all works have that take turns."""
    parser.add_argument("--rounds", type=positive, default=5, metavar="N", help="times each side works (default: 5)")
    parser.add_argument("--threads", type=parallel, default=2, metavar="N", help="threads of each side (default: 2)")


def add_micro_batches(parser: CommandParser) -> None:
    """How a batch is trained."""
    parser.add_argument(
        "--micro-batches",
        type=positive,
        default=2,
        metavar="N",
        help="micro-batches that we train a batch in, in parallel (default: 2)",
    )


def add_tree_classifier(parser: CommandParser, batches: int, head_units: int) -> None:
    """Which classifier is trained, and its sizes."""
    parser.add_argument("--encoder", required=True, choices=[name for name, e in ENCODERS.items() if e.builds_trees])
    add_micro_batches(parser)
    sizes = {
        "units": (300, "size of h and of c"),
        "tracker-units": (64, "size of the tracker's state"),
        "embedding-size": (300, "size of the fixed word vectors"),
        "head-units": (head_units, "size of the two hidden layers over a pair"),
        "batches": (batches, "batches in a round"),
    }
    for name, (size, meaning) in sizes.items():
        parser.add_argument(f"--{name}", type=positive, default=size, metavar="N", help=f"{meaning} (default: {size})")


def set_defaults(arguments: argparse.Namespace, unused: str | None, **defaults: Any) -> None:
    """Give options that were not given their values.

    Args:
        arguments: the options, None where they were not given.
        unused: why they mean nothing, such as "without --peer"; None where they mean something.
        defaults: their values, by name.

    Raises:
        UserError: one is given that means nothing.
    """
    for name, value in defaults.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
        elif unused:
            raise UserError(f"--{name.replace('_', '-')}: means nothing {unused}; leave it out")


def set_threads(within: int, between: int) -> None:
    """Threads of one operation, and operations at once, of TensorFlow in this process."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(within)
    tf.config.threading.set_inter_op_parallelism_threads(between)


def set_training_threads(arguments: argparse.Namespace) -> None:
    """As training does that shares `--threads` out among its micro-batches."""
    set_threads(max(1, arguments.threads // arguments.micro_batches), arguments.threads)


def load_before() -> float:
    """The load of the machine; said on standard error where it spoils a ratio."""
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"others are at work on this machine (load {load:.1f}): the ratio says little", file=sys.stderr)
    return load
