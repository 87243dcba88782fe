"""How a translator searches, and how its translations are scored: options that commands have in common."""

import argparse
import logging

from tfnmt.commands.field_options import add_field
from tfnmt.commands.parser import CommandParser, positive
from tfnmt.errors import UserError
from tfnmt.translation.search_configuration import SearchConfiguration

logger = logging.getLogger(__name__)

BLEU_TOKENIZE = "13a"
"""The default, which is that of sacrebleu."""

_OF_METHODS = {
    "beam": ("beam_size", "length_penalty", "length_norm"),
    "sample": ("temperature", "top_k", "top_p", "seed"),
}
"""Method -> options that mean nothing with another."""

_OUTPUT = """output:
  A line holds the translation, then what is asked for, a TAB before each:
  --scores      what translations are ordered by: the log-probability. A beam of 2 or more, or one with a coverage
                penalty, divides it by the length (with the end) to the power of --length-penalty, or as
                --length-norm says, and adds the coverage penalty; greedy search and sampling do not.
  --alignments  pairs i-j: each word j of the translation with the word i of the source that it attends to most, both
                counted from 0. The attention of a word's subwords is added up on both sides. Where the model's own
                tokenizer splits off punctuation, that counts as words.
  With --n-best 2 or more, each line in gives up to so many lines out, best first: i ||| translation ||| score, and
  ||| alignment, if that is asked for. i is the line, counted from 0.
"""


def add_bleu_tokenize(parser: CommandParser) -> None:
    """--bleu-tokenize."""
    parser.add_argument(
        "--bleu-tokenize",
        default=BLEU_TOKENIZE,
        choices=("13a", "intl", "char", "none"),
        help=f"sacrebleu's tokenization; none for text that is tokenized already (default: {BLEU_TOKENIZE})",
    )


def add_beam_options(parser: CommandParser) -> None:
    """--beam-size, --length-penalty and --length-norm."""
    for name in ("beam_size", "length_penalty", "length_norm"):
        add_field(parser, SearchConfiguration, name)


def add_search_options(parser: CommandParser) -> None:
    """Options of every search, also of an exported translator's, and --shortlist."""
    add_beam_options(parser)
    lengths = ("maximum_length_factor", "maximum_length_offset", "minimum_length")
    for name in (*lengths, "no_repeat_ngram", "banned_words", "no_unknown", "precision"):
        add_field(parser, SearchConfiguration, name)
    parser.add_argument(
        "--shortlist", metavar="F", help="score likely words only: a file that tfnmt make-shortlist has made"
    )


def add_translation_options(parser: CommandParser) -> None:
    """What translates text has: the options of every search, and what is written of what it finds."""
    parser.epilog = _OUTPUT
    add = parser.add_argument
    add_search_options(parser)
    for name in ("method", "n_best", "coverage_penalty", "temperature", "top_k", "top_p", "seed"):
        add_field(parser, SearchConfiguration, name)
    add_field(parser, SearchConfiguration, "replace_unknown", "--replace-unk")
    add("--scores", action="store_true", help="add the score, after a TAB")
    add("--alignments", action="store_true", help="add which words belong together, after a TAB")
    add("--batch-size", type=positive, default=64, metavar="N", help="sentences at once (default: 64)")


def search_configuration(arguments: argparse.Namespace) -> SearchConfiguration:
    """The `SearchConfiguration` that the options ask for; see also `warn_of_unused_options`.

    Raises:
        UserError: a value is not allowed, or an option is of another method than the one chosen.
    """
    fields = SearchConfiguration.model_fields
    for method, names in _OF_METHODS.items():
        if method == getattr(arguments, "method", "beam"):
            continue
        for name in names:
            value = getattr(arguments, name, fields[name].default)
            if value != fields[name].default and (name, value) != ("beam_size", 1):  # a beam of 1 is greedy search
                option = f"--{name.replace('_', '-')} {value}"
                raise UserError(f"{option}: means nothing without --method {method}; give that, or leave it out")
    warn_of_unused_options(arguments)
    return SearchConfiguration(**{name: value for name, value in vars(arguments).items() if name in fields})


def warn_of_unused_options(arguments: argparse.Namespace) -> None:
    """Log a warning for each option of a search that changes nothing beside the others."""
    is_greedy = arguments.beam_size == 1 and not getattr(arguments, "coverage_penalty", 0)
    if is_greedy and arguments.length_penalty != 1:
        logger.warning("--length-penalty has no effect with --beam-size 1")
    if arguments.length_norm != "length" and (is_greedy or arguments.length_penalty == 0):
        with_ = "--beam-size 1" if is_greedy else "--length-penalty 0"
        logger.warning("--length-norm has no effect with %s", with_)
    if getattr(arguments, "replace_unknown", False) and arguments.no_unknown:
        logger.warning("--replace-unk has no effect with --no-unknown")
