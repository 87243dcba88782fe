"""Parse any number of files by several processes, on one machine or on a cluster: binary brackets for each line.

The output is what `tfnmt parse` writes, line by line. A line that cannot be read is reported in FILE.problems, and its
output is empty. Options, kills and clusters are as with `tfnmt translate-corpus`.
"""

import argparse
from typing import TextIO

from tfnmt.commands.corpus_options import add_classifier_options, add_corpus_options, classifier_task, process
from tfnmt.commands.parser import CommandParser


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    add_classifier_options(parser)
    add_corpus_options(parser)


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.corpus.classification import ParsingTask

    process(classifier_task(ParsingTask, arguments), arguments, output)
