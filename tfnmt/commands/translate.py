"""Translate standard input to standard output: one line in, one line out, in order; an empty line stays empty.

Of several models, all trained with the same tokenizers, the mean of their probabilities counts (an ensemble).
"""

import argparse
import sys
from typing import TextIO

from tfnmt.commands.parser import CommandParser, positive
from tfnmt.commands.search_options import add_search_options, search_configuration

OUTPUT = """output:
  A line holds the translation, then what is asked for, a TAB before each:
  --scores      what translations are ordered by: the log-probability, which a beam divides by its length to the power
                of --length-penalty and adds the coverage penalty to
  --alignments  pairs i-j: each word j of the translation with the word i of the source that it attends to most, both
                counted from 0. The attention of a word's subwords is added up on both sides. Where the model's own
                tokenizer splits off punctuation, that counts as words.
  With --n-best 2 or more, each line in gives up to so many lines out, best first: i ||| translation ||| score, and
  ||| alignment, if that is asked for. i is the line, counted from 0.
"""


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.epilog = OUTPUT
    add = parser.add_argument
    add("--model", required=True, nargs="+", metavar="DIR", help="the model directory, or several: an ensemble")
    add_search_options(parser)
    add("--method", default="beam", choices=("greedy", "sample", "beam"), help="how words are chosen (default: beam)")
    add("--n-best", type=positive, default=1, metavar="N", help="translations of each line, up to K (default: 1)")
    add("--coverage-penalty", type=float, default=0.0, metavar="B", help="for words left out (default: 0)")
    add("--temperature", type=float, default=1.0, metavar="T", help="of sampling; under 1 it dares less (default: 1)")
    add("--top-k", type=int, metavar="K", help="sample from the K most probable words only")
    add("--top-p", type=float, metavar="P", help="sample from the most probable that have together probability P")
    add("--seed", type=int, default=1, metavar="S", help="of sampling: the same one, the same text (default: 1)")
    add("--prefix-file", metavar="F", help="what each translation is to begin with, whole words, line by line; .gz too")
    add(
        "--replace-unk",
        action="store_true",
        dest="replace_unknown",
        help="in place of <unk>, the source word that it attends to most",
    )
    add("--scores", action="store_true", help="add the score, after a TAB")
    add("--alignments", action="store_true", help="add which words belong together, after a TAB")
    add("--batch-size", type=positive, default=64, metavar="N", help="sentences at once (default: 64)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import tfnmt
    from tfnmt.data.lines import read_lines
    from tfnmt.translation.searcher import Searcher
    from tfnmt.translation.shortlist import load_shortlist
    from tfnmt.translation.streaming import translate_stream

    configuration = search_configuration(arguments)
    models = [tfnmt.load(directory, "translator") for directory in arguments.model]
    shortlist = load_shortlist(arguments.shortlist) if arguments.shortlist else None
    searcher = Searcher(models, configuration, shortlist)
    prefixes = read_lines(arguments.prefix_file) if arguments.prefix_file else None
    stream = translate_stream(searcher, sys.stdin.buffer, arguments.batch_size, prefixes)
    for number, found in enumerate(_with_progress(stream, output)):
        for line in _formatted(number, found, arguments):
            print(line, file=output, flush=True)


def _formatted(number, found, arguments):
    """The lines to print for the line of that number: its `Translations`, in the format of the help."""
    from tfnmt.search.step import NEG_INF

    for i, text in enumerate(found.texts):
        columns = [text.decode("utf-8")]
        if arguments.n_best > 1:
            columns.insert(0, str(number))
        if arguments.scores or arguments.n_best > 1:
            columns.append(f"{found.scores[i]:.4f}")
        if arguments.alignments:
            columns.append(found.alignments[i].decode("utf-8"))
        if i == 0 or found.scores[i] > NEG_INF:
            yield (" ||| " if arguments.n_best > 1 else "\t").join(columns)


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
