"""Make a shortlist: of each source word, the target words that it is translated by most often in parallel text.

With it, `tfnmt translate`, `export` and `benchmark` score these words alone: faster, where a model has many words.
"""

import argparse
import itertools
import logging
from typing import TextIO

from tfnmt.commands.parser import CommandParser, positive

logger = logging.getLogger(__name__)


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    add = parser.add_argument
    add("--model", required=True, metavar="DIR", help="the model whose vocabularies it is for")
    add("--source", required=True, metavar="F", help="sentences, or a .tsv of both sides; .gz too")
    add("--target", metavar="F", help="their translations, line by line")
    add("--output", required=True, metavar="F", help="the file to write")
    add("--words-per-word", type=positive, default=30, metavar="K", help="translations of each word (default: 30)")
    add("--frequent", type=positive, default=200, metavar="N", help="most frequent words, always in it (default: 200)")
    add("--pairs", type=positive, default=200_000, metavar="N", help="read so many pairs at most (default: 200000)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import tfnmt
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.text.framing import encoder_inputs
    from tfnmt.translation.shortlist import Shortlist, translation_table

    model = tfnmt.load(arguments.model, "translator")
    files = ParallelFiles(arguments.source, arguments.target)
    files.check()

    def pairs():
        read = itertools.islice(zip(*files.sides(), strict=True), arguments.pairs)
        while chunk := list(itertools.islice(read, 1000)):
            sources, targets = zip(*chunk, strict=True)
            sources = encoder_inputs(model.source_tokenizer.encode(sources))
            yield from zip(sources.to_list(), model.target_tokenizer.encode(targets).to_list(), strict=True)

    sizes = [tokenizer.vocabulary_size for tokenizer in model.tokenizers]
    table, occurrences = translation_table(pairs(), sizes[0], sizes[1], arguments.words_per_word)
    frequent = occurrences.argsort()[::-1][: arguments.frequent]
    Shortlist(table, frequent, sizes[1]).save(arguments.output)
    logger.info("%s: %d translations of each of %s words", arguments.output, arguments.words_per_word, f"{sizes[0]:,}")
