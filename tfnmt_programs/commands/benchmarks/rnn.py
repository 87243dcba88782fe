"""A recurrent layer's training step, beside Keras's RNN and GRU."""

import argparse
from typing import Any

from tfnmt.commands.parser import CommandParser, parallel, positive
from tfnmt_programs.commands.benchmarks.options import set_threads


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument("--rounds", type=positive, default=15, metavar="N", help="times each layer works (default: 15)")
    parser.add_argument("--threads", type=parallel, default=2, metavar="N", help="threads (default: 2)")
    parser.add_argument(
        "--shapes",
        nargs="+",
        type=_shape,
        metavar="TxBxU",
        help="time x batch x units (default: 30x64x256 30x64x512 100x16x64 30x8x128)",
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    set_threads(arguments.threads, arguments.threads)
    from tfnmt_programs.benchmarks.rnn import SHAPES, Shape, compare_rnn

    shapes = SHAPES if arguments.shapes is None else [Shape(*shape) for shape in arguments.shapes]
    figures = {"threads": arguments.threads} | compare_rnn(shapes, arguments.rounds)
    if arguments.json:
        return figures
    for each in figures.pop("shapes"):
        shape, ratio = each.pop("shape"), each.pop("ratio")
        figures |= {f"{shape} {name} ms": 1000 * seconds for name, seconds in each.items()}
        figures |= {f"{shape} {name} / ours": value for name, value in ratio.items()}
    mean = figures.pop("mean_ratio")
    return figures | {f"mean {name} / ours": value for name, value in mean.items()}


def _shape(text):
    try:
        time, batch, units = map(positive, text.split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not time x batch x units, such as 30x64x256") from None
    return time, batch, units
