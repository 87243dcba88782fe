"""Score a translator on files of sentence pairs, or on the test set of the sample corpus."""

import argparse
import tempfile
from typing import TextIO

from tfnmt.commands.figures import print_figures
from tfnmt.commands.parser import CommandParser, model_directory, positive, refuse_repeated
from tfnmt.commands.search_options import add_beam_options, add_bleu_tokenize, warn_of_unused_options
from tfnmt.errors import UserError


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument(
        "--model",
        type=model_directory,
        required=True,
        nargs="+",
        metavar="DIR",
        help="the model directory, or several: each is scored, and those after the first are compared with it by paired"
        " bootstrap resampling",
    )
    parser.add_argument(
        "--source",
        metavar="F",
        help="sentences, or a .tsv of both sides; .gz too (default: the sample's test set)",
    )
    parser.add_argument("--target", metavar="F", help="their reference translations, line by line")
    add_beam_options(parser)
    parser.add_argument("--batch-size", type=positive, default=64, metavar="N", help="sentences at once (default: 64)")
    add_bleu_tokenize(parser)
    parser.add_argument("--bleu-lowercase", action="store_true", help="score without regard to case")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.data.samples.translation import write_sample

    if arguments.target and not arguments.source:
        raise UserError("--source is missing: the sentences that --target translates")
    refuse_repeated("--model", arguments.model, "model")
    warn_of_unused_options(arguments)
    with tempfile.TemporaryDirectory() as directory:
        if arguments.source is None:
            sample = write_sample(directory)
            files = ParallelFiles(sample["test.en"], sample["test.de"])
        else:
            files = ParallelFiles(arguments.source, arguments.target)
        figures = _figures(arguments, files)
    only, *others = figures.values()
    if arguments.json:
        print_figures(figures if others else only, True, output)
        return
    for name, each in figures.items():
        if others:
            print(f"{name}:", file=output)
        print_figures(each, False, output)


def _figures(arguments, files):
    """The figures of each model, by its directory."""
    import tfnmt
    from tfnmt.translation.evaluation import evaluate_translator
    from tfnmt.translation.significance import compare_translations

    search = {
        "beam_size": arguments.beam_size,
        "batch_size": arguments.batch_size,
        "length_penalty": arguments.length_penalty,
        "length_norm": arguments.length_norm,
    }
    scoring = {"tokenize": arguments.bleu_tokenize, "lowercase": arguments.bleu_lowercase}
    figures, translations = {}, {}
    for name in arguments.model:
        model = tfnmt.load(name, "translator")
        evaluated = evaluate_translator(model, files, **search, **scoring)
        figures[name], translations[name] = evaluated
    if len(translations) > 1:
        references = list(files.sides()[1])
        for name, each in compare_translations(translations, references, **scoring).items():
            figures[name] |= each
    return figures
