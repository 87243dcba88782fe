"""Make a shortlist: of each source word, the target words that it is translated by most often in parallel text.

With it, `tfnmt translate`, `export` and `benchmark` score these words alone: faster, where a model has many words.
"""

import argparse
import logging
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parallel_files import chosen_training_pairs
from tfnmt.commands.parser import CommandParser, model_directory, output_file, positive, refuse_same_files
from tfnmt.errors import UserError

logger = logging.getLogger(__name__)


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    add = parser.add_argument
    add("--model", type=model_directory, required=True, metavar="DIR", help="the model whose vocabularies it is for")
    add("--source", metavar="F", help="sentences, or a .tsv of both sides; .gz too")
    add("--target", metavar="F", help="their translations, line by line")
    add("--records", metavar="DIR", help="instead of both, what tfnmt prepare has written")
    add("--output", type=output_file, required=True, metavar="F", help="the file to write")
    add("--words-per-word", type=positive, default=30, metavar="K", help="translations of each word (default: 30)")
    add("--frequent", type=positive, default=200, metavar="N", help="most frequent words, always in it (default: 200)")
    add("--pairs", type=positive, default=200_000, metavar="N", help="read at most N pairs (default: 200000)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import tfnmt
    from tfnmt.data.progress import log_waiting
    from tfnmt.translation.shortlist import Shortlist
    from tfnmt.translation.translation_table import spooled_ids, translation_table

    refuse_same_files(arguments, outputs=("output",), inputs=("source", "target"))
    model = tfnmt.load(arguments.model, "translator")
    pairs = chosen_training_pairs(arguments)
    if pairs is None:
        raise UserError("--source or --records is missing: the pairs to make it from")
    pairs.check()
    sizes = [tokenizer.vocabulary_size for tokenizer in model.tokenizers]
    directory = Path(arguments.output).parent
    with (
        log_waiting("learning which words translate which"),
        spooled_ids(pairs, model.tokenizers, arguments.pairs, directory) as chunks,
    ):
        table, occurrences = translation_table(chunks, sizes[0], sizes[1], min(arguments.words_per_word, sizes[1]))
    if not occurrences.any():
        raise UserError(f"{pairs.paths()[0]}: there are no words in the pairs to make it from")
    by_frequency = (-occurrences).argsort(kind="stable")
    frequent = by_frequency[occurrences[by_frequency] > 0][: arguments.frequent]
    digests = [tokenizer.digest() for tokenizer in model.tokenizers]
    Shortlist(table, frequent, sizes[1], digests).save(arguments.output)
    logger.info("%s: up to %d translations of each of %s words", arguments.output, table.shape[1], f"{sizes[0]:,}")
