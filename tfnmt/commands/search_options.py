"""How a translator searches: options that commands have in common."""

import argparse
from typing import TYPE_CHECKING

from tfnmt.commands.parser import CommandParser, positive

if TYPE_CHECKING:
    from tfnmt.translation.search_configuration import SearchConfiguration


def add_search_options(parser: CommandParser) -> None:
    """Options with the names of the fields of `SearchConfiguration`, and --shortlist."""
    add = parser.add_argument
    add("--beam-size", type=positive, default=5, metavar="K", help="1 is greedy search (default: 5)")
    add("--length-penalty", type=float, default=1.0, metavar="A", help="0 favours short translations (default: 1)")
    add("--minimum-length", type=int, default=0, metavar="N", help="tokens of each translation at least (default: 0)")
    add("--no-repeat-ngram", type=positive, metavar="N", help="never write the same N tokens in a row twice")
    add("--banned-words", nargs="+", default=[], metavar="W", help="never write these words, each one token")
    add("--no-unknown", action="store_true", help="never write <unk>")
    add("--shortlist", metavar="F", help="score likely words only: a file that tfnmt make-shortlist has made")
    add(
        "--precision",
        default="float32",
        choices=("float32", "bfloat16"),
        help="of the decoder's matrix products, however weights are stored (default: float32)",
    )


def search_configuration(arguments: argparse.Namespace) -> "SearchConfiguration":
    """The `SearchConfiguration` that the options ask for.

    Raises:
        UserError: a value is not allowed.
    """
    from tfnmt.translation.search_configuration import SearchConfiguration

    fields = SearchConfiguration.model_fields
    return SearchConfiguration(**{name: value for name, value in vars(arguments).items() if name in fields})
