"""Make training data for one model of what an ensemble of models knows: its translations of what it was trained on.

Each source sentence comes three times: with the given translation, with the ensemble's best, and with that of its
n best which is nearest to the given one, by BLEU of the sentence (Kim & Rush 2016). With --back-n-best each given
translation comes three times more: with the source sentence, and with two translations of its own into the source
language, chosen in the same way (Nguyen et al. 2020).
"""

import argparse
import contextlib
from typing import TextIO

from tfnmt.commands.parser import CommandParser, refuse_same_files
from tfnmt.commands.search_options import add_bleu_tokenize


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    add = parser.add_argument
    add("--source", required=True, metavar="F", help="training sentences, or a .tsv of both sides; .gz too")
    add("--target", metavar="F", help="their translations, line by line")
    add(
        "--n-best",
        required=True,
        metavar="F",
        help="what translate --n-best 5 or translate-corpus --n-best 5 has written for these sentences",
    )
    add(
        "--back-n-best",
        metavar="F",
        help="what translate --n-best 5 of a model of the other direction has written for the translations",
    )
    add("--output-source", required=True, metavar="F", help="the file of source sentences to write; .gz too")
    add("--output-target", required=True, metavar="F", help="the file of translations to write; .gz too")
    add_bleu_tokenize(parser)


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.data.lines import create_lines
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.files import atomic_write, file_errors
    from tfnmt.translation.distillation import distilled_pairs

    outputs = arguments.output_source, arguments.output_target
    inputs = "source", "target", "n_best", "back_n_best"
    refuse_same_files(arguments, outputs=("output_source", "output_target"), inputs=inputs)
    pairs = ParallelFiles(arguments.source, arguments.target)
    pairs.check()
    ways_out = "name another --output-source", "name another --output-target"
    with contextlib.ExitStack() as replaced, contextlib.ExitStack() as written:  # both whole before one is replaced
        parts = [replaced.enter_context(atomic_write(path, way)) for path, way in zip(outputs, ways_out, strict=True)]
        files = []
        for part, path, advice in zip(parts, outputs, ways_out, strict=True):
            written.enter_context(file_errors(path, advice))
            files.append(written.enter_context(create_lines(part)))
        distilled = distilled_pairs(pairs, arguments.n_best, arguments.bleu_tokenize, arguments.back_n_best)
        for side, file, path, advice in zip(zip(*distilled, strict=True), files, outputs, ways_out, strict=True):
            with file_errors(path, advice):
                file.writelines(line.encode() + b"\n" for line in side)
