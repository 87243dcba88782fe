"""Sentences a second in translating, and how near that is to the floor of this machine."""

import argparse
from typing import Any

from tfnmt.commands.field_options import add_field
from tfnmt.commands.parser import CommandParser, positive
from tfnmt.commands.search_options import add_bleu_tokenize
from tfnmt.errors import UserError
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt_programs.commands.benchmarks.options import add_comparison, load_before, set_defaults, set_threads


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--model", metavar="DIR", help="the model directory")
    which.add_argument("--preset", metavar="P", help="random weights and sentences, in the sizes of that preset")
    parser.add_argument("--sentences", type=positive, metavar="N", help="random sentences, with --preset (default: 10)")
    parser.add_argument("--source", metavar="F", help="sentences to translate, with --model; .gz too")
    add_field(parser, SearchConfiguration, "beam_size")
    parser.add_argument("--batch-size", type=positive, default=64, metavar="N", help="sentences at once (default: 64)")
    parser.add_argument(
        "--shortlist", metavar="F", help="score likely words only, with --model: of tfnmt make-shortlist"
    )
    add_field(parser, SearchConfiguration, "precision")
    parser.add_argument(
        "--target", metavar="F", help="references, with --model: tell BLEU, and the exact search's, too"
    )
    add_bleu_tokenize(parser)
    add_comparison(
        parser,
        peers=("joeynmt", "ctranslate2", "marian"),
        peer_help="the other toolkit, with random weights: in our sizes, CTranslate2 a small Transformer",
        needed=False,
    )
    parser.add_argument(
        "--peer-precision",
        choices=("float32", "int8"),
        help="of the peer's products, int8 of CTranslate2 and Marian (default: float32)",
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    set_defaults(arguments, None if arguments.preset else "without --preset", sentences=10)
    unused = None if arguments.peer else "without --peer"
    set_defaults(arguments, unused, peer_precision="float32", peer_python=None)
    ran = {"peer_name": arguments.peer, "load_before": load_before()}
    set_threads(1, arguments.threads)  # as `tfnmt translate` does
    from tfnmt_programs.benchmarks.translation_speed import translation_speed

    if arguments.model and not arguments.source:
        raise UserError("--source is missing: the sentences that the model is to translate")
    for option in ("source", "target", "shortlist"):
        if getattr(arguments, option) and not arguments.model:
            raise UserError(f"--{option} goes with --model, not with --preset")
    return translation_speed(arguments) | ran
