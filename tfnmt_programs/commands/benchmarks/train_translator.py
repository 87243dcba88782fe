"""Target words a second in training a translator, beside JoeyNMT or Marian."""

import argparse
import tempfile
from typing import Any

from tfnmt.commands.parser import CommandParser, positive
from tfnmt.errors import UserError
from tfnmt_programs.commands.benchmarks.options import (
    add_comparison,
    add_micro_batches,
    load_before,
    set_defaults,
    set_training_threads,
)


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    parser.add_argument(
        "--source", metavar="F", help="sentences, or a .tsv of both sides; .gz too (default: the sample)"
    )
    parser.add_argument("--target", metavar="F", help="their translations, line by line")
    parser.add_argument(
        "--model",
        default="conditional",
        choices=("conditional", "input_feeding", "multi30k"),
        help="ours: as many products as the peer's, or the peer's kind of decoder with more products, or that preset"
        " (and a peer of its sizes, which are smaller) (default: conditional)",
    )
    parser.add_argument(
        "--model-size",
        type=positive,
        metavar="N",
        help="units of decoder and attention; words' vectors and the encoder's directions have half (default: 512)",
    )
    parser.add_argument(
        "--mixed-precision",
        choices=("ours", "both"),
        help="multiply in bfloat16, as mixed_precision=true trains (default: neither side)",
    )
    parser.add_argument("--batch-size", type=positive, default=64, metavar="N", help="pairs at once (default: 64)")
    parser.add_argument("--batches", type=positive, default=30, metavar="N", help="batches in a round (default: 30)")
    add_micro_batches(parser)
    add_comparison(parser, peers=("joeynmt", "marian"))


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    set_defaults(arguments, "with --model multi30k" if arguments.model == "multi30k" else None, model_size=512)
    ran = {"peer_name": arguments.peer, "load_before": load_before()}
    set_training_threads(arguments)
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.data.samples.translation import write_sample
    from tfnmt_programs.benchmarks.translator_training import compare_training

    if arguments.target and not arguments.source:
        raise UserError("--source is missing: the sentences that --target translates")
    if arguments.source:
        return compare_training(ParallelFiles(arguments.source, arguments.target), arguments) | ran
    with tempfile.TemporaryDirectory() as directory:
        sample = write_sample(directory)
        return compare_training(ParallelFiles(sample["train.en"], sample["train.de"]), arguments) | ran
