"""Translate any number of files by several processes, on one machine or on a cluster: a file out for each file in.

The output is what `tfnmt translate` writes, line by line. Whatever is killed, the same command goes on from there. A
line that cannot be read is reported in FILE.problems and counts as empty.

Ray runs the processes: on this machine or, if RAY_ADDRESS is set, on the cluster at that HOST:PORT, where each machine
has to have the model at the same path. docs/scale.md tells more.
"""

import argparse
from pathlib import Path
from typing import TextIO

from tfnmt.commands.corpus_options import add_corpus_options, process
from tfnmt.commands.parser import CommandParser, model_directory
from tfnmt.commands.search_options import add_translation_options, search_configuration


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    models = "the model directory, or several: an ensemble"
    parser.add_argument("--model", type=model_directory, required=True, nargs="+", metavar="DIR", help=models)
    add_corpus_options(parser)
    add_translation_options(parser)


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.corpus.translation import TranslationTask
    from tfnmt.training.model_directory import require_kind

    for model in arguments.model:
        require_kind(model, "translator")
    task = TranslationTask(
        models=tuple(str(Path(model).absolute()) for model in arguments.model),
        search=search_configuration(arguments),
        shortlist=str(Path(arguments.shortlist).absolute()) if arguments.shortlist else None,
        scores=arguments.scores,
        batch_size=arguments.batch_size,
    )
    process(task, arguments, output)
