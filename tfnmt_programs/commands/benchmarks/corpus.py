"""Lines a second of translate-corpus beside translate, and whether every line is there after two kills."""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from tfnmt.commands.parser import CommandParser, model_directory, parallel, positive
from tfnmt_programs.commands.benchmarks.options import load_before


def add_options(parser: CommandParser) -> None:
    """Add the options of this work."""
    add = parser.add_argument
    add(
        "--model", type=model_directory, required=True, metavar="DIR", help="the directory of a translator from English"
    )
    add("--lines", type=positive, default=1_000_000, metavar="N", help="generated sentences (default: 1000000)")
    add("--replicas", type=parallel, default=2, metavar="N", help="processes of one thread (default: 2)")
    add("--beam-size", type=positive, default=5, metavar="K", help="of the search (default: 5)")
    add("--batch-size", type=positive, default=64, metavar="N", help="sentences at once (default: 64)")
    add("--seed", type=int, default=1, metavar="S", help="of the sentences (default: 1)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of this work."""
    from tfnmt.training.model_directory import require_kind
    from tfnmt_programs.benchmarks.corpus_translation import compare_corpus

    require_kind(arguments.model, "translator")
    model, ran = Path(arguments.model).absolute(), {"load_before": load_before()}
    search = ["--scores", "--beam-size", str(arguments.beam_size)]
    with tempfile.TemporaryDirectory() as folder:
        sizes = (arguments.lines, arguments.replicas)
        return ran | compare_corpus(model, *sizes, search, arguments.batch_size, arguments.seed, Path(folder))
