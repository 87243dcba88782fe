"""Score a translator on files of sentence pairs, or on the test set of the sample corpus."""

import argparse
import tempfile
from typing import TextIO

from tfnmt.commands.figures import print_figures
from tfnmt.commands.parser import CommandParser, positive
from tfnmt.errors import UserError


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--model", required=True, metavar="DIR", help="the model directory")
    parser.add_argument(
        "--source",
        metavar="F",
        help="sentences, or a .tsv of both sides; .gz too (default: the sample's test set)",
    )
    parser.add_argument("--target", metavar="F", help="their reference translations, line by line")
    parser.add_argument("--beam-size", type=positive, default=5, metavar="K", help="1 is greedy search (default: 5)")
    parser.add_argument("--batch-size", type=positive, default=64, metavar="N", help="sentences at once (default: 64)")
    parser.add_argument(
        "--bleu-tokenize",
        default="13a",
        choices=("13a", "intl", "char", "none"),
        help="sacrebleu's tokenization; none for text that is tokenized already (default: 13a)",
    )
    parser.add_argument("--bleu-lowercase", action="store_true", help="score without regard to case")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import tfnmt
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.data.samples.translation import write_sample
    from tfnmt.translation.evaluation import evaluate_translator

    if arguments.target and not arguments.source:
        raise UserError("--source is missing: the sentences that --target translates")
    model = tfnmt.load(arguments.model, "translator")
    with tempfile.TemporaryDirectory() as directory:
        if arguments.source is None:
            sample = write_sample(directory)
            files = ParallelFiles(sample["test.en"], sample["test.de"])
        else:
            files = ParallelFiles(arguments.source, arguments.target)
        figures, _ = evaluate_translator(
            model,
            files,
            arguments.beam_size,
            arguments.batch_size,
            tokenize=arguments.bleu_tokenize,
            lowercase=arguments.bleu_lowercase,
        )
    print_figures(figures, arguments.json, output)
