"""Score given translations: the log-probability (natural logarithm) of each, one a line, as the model sees them.

The lines of an n-best list, each with its source, can be ranked anew with it.
"""

import argparse
import math
from typing import TextIO

from tfnmt.commands.figures import json_line
from tfnmt.commands.line_display import line_display
from tfnmt.commands.parser import CommandParser, model_directory, positive

OUTPUT = """output:
  A line for each pair: the log-probability of the translation with its end, and with --word-level, after a TAB, that of
  each word and of the end, with spaces between: one number more than there are words. A word's is the sum over its
  subwords. With --json, one object after all lines: log_probability (of all), perplexity (of a token, ends counted),
  sentences, words and tokens (ends counted).

  A search may have another score for the same translation: where it cut the text into other subwords, where it ended at
  the maximum length, so that the end is not counted, and for an empty line, to which it gives 0.
"""


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.epilog = OUTPUT
    parser.add_argument("--model", type=model_directory, required=True, metavar="DIR", help="the model directory")
    parser.add_argument("--source", required=True, metavar="F", help="sentences, or a .tsv of both sides; .gz too")
    parser.add_argument("--target", metavar="F", help="their translations, line by line")
    parser.add_argument("--word-level", action="store_true", help="add the log-probability of each word")
    parser.add_argument(
        "--precision", default="float32", choices=("float32", "int8"), help="of matrix products (default: float32)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object with the figures of all, at the end")
    parser.add_argument("--batch-size", type=positive, default=64, metavar="N", help="sentences at once (default: 64)")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import tfnmt
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.translation.scoring import Scorer, score_stream
    from tfnmt.translation.streaming import truncate_long

    files = ParallelFiles(arguments.source, arguments.target)
    model = tfnmt.load(arguments.model, "translator")
    files.check()
    sources, translations = files.sides()
    maximum_length = model.configuration.maximum_source_length
    sources = truncate_long(sources, model.source_tokenizer, maximum_length, files.source)
    totals = {"log_probability": 0.0, "sentences": 0, "words": 0, "tokens": 0}
    file = files.target or files.source
    scorer = Scorer(model, arguments.precision)
    with line_display("scoring", output, files.source) as display:
        advance = display.advance if display else None
        for scored in score_stream(scorer, sources, translations, arguments.batch_size, file, advance):
            columns = [f"{scored.log_probability:.4f}"]
            if arguments.word_level:
                columns.append(" ".join(f"{log_p:.4f}" for log_p in scored.words))
            print("\t".join(columns), file=output)
            words = len(scored.words) - 1
            for key, value in zip(totals, (scored.log_probability, 1, words, scored.tokens), strict=True):
                totals[key] += value
    if arguments.json:
        perplexity = math.exp(min(700.0, -totals["log_probability"] / totals["tokens"]))  # which JSON has a number for
        print(json_line(totals | {"perplexity": perplexity}), file=output)
