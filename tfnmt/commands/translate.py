"""Translate standard input to standard output: one line in, one line out, in order; an empty line stays empty.

Of several models, all trained with the same tokenizers, the mean of their probabilities counts (an ensemble).
"""

import argparse
import sys
from typing import TextIO

from tfnmt.commands.parser import CommandParser
from tfnmt.commands.search_options import add_translation_options, search_configuration


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    add = parser.add_argument
    add("--model", required=True, nargs="+", metavar="DIR", help="the model directory, or several: an ensemble")
    add_translation_options(parser)
    add("--prefix-file", metavar="F", help="what each translation is to begin with, whole words, line by line; .gz too")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import tfnmt
    from tfnmt.data.lines import read_lines
    from tfnmt.threads import processors, share_processors
    from tfnmt.translation.formatting import formatted
    from tfnmt.translation.searcher import Searcher
    from tfnmt.translation.shortlist import load_shortlist
    from tfnmt.translation.streaming import translate_stream

    share_processors(processors())  # the searcher has a batch for each
    configuration = search_configuration(arguments)
    models = [tfnmt.load(directory, "translator") for directory in arguments.model]
    shortlist = load_shortlist(arguments.shortlist) if arguments.shortlist else None
    searcher = Searcher(models, configuration, shortlist)
    prefixes = read_lines(arguments.prefix_file) if arguments.prefix_file else None
    stream = translate_stream(searcher, sys.stdin.buffer, arguments.batch_size, prefixes)
    for number, found in enumerate(_with_progress(stream, output)):
        for line in formatted(number, found, configuration.n_best, arguments.scores):
            print(line, file=output, flush=True)


def _with_progress(stream, output):
    """`stream`, with a progress bar on standard error, if that is a terminal on which no translations are printed."""
    if not sys.stderr.isatty() or output.isatty():
        yield from stream
        return
    import keras

    bar = keras.utils.Progbar(None, unit_name="sentence")
    count = 0
    for count, item in enumerate(stream, start=1):
        yield item
        bar.update(count)
    bar.update(count, finalize=True)
