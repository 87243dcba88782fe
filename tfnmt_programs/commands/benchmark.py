"""Measure how fast this project works, beside another toolkit doing the same work on the same machine."""

import argparse
import importlib
from typing import TextIO

from tfnmt.commands.figures import print_figures
from tfnmt.commands.parser import CommandParser

WORKS = {
    "train-translator": "target words a second in training a translator",
    "translate": "sentences a second in translating, and how near that is to the floor",
    "corpus": "lines a second of translate-corpus beside translate, and with two kills on the way",
    "serve": "requests a second that the server answers, one sentence each, and how soon",
    "start-stop": "how long the server takes to start, and to stop",
    "worst-requests": "the most that one request can take of the server",
    "train-classifier": "sentence pairs a second in training a classifier that reads trees",
    "lengths": "words a second with long sentences beside short ones, as many words a batch",
    "board": "the part of a training run's time that writing for TensorBoard takes",
    "memory": "what a training run holds after every epoch",
    "workers": "training by several workers beside one process: the same weights, and how much faster",
    "prepare": "how fast a large corpus becomes records, batches and a shortlist, in how much memory",
    "read": "how fast a large file of pairs with trees becomes batches",
    "rnn": "a recurrent layer's training step, beside Keras's RNN and GRU",
    "versions": "training and searching, beside an earlier version of this project",
}


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    works = parser.add_subparsers(dest="work", required=True, metavar="WORK")
    for name, meaning in WORKS.items():
        work = works.add_parser(name, help=meaning)
        _module(name).add_options(work)
        work.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    figures = _module(arguments.work).measure(arguments)
    print_figures({"work": arguments.work} | figures, arguments.json, output)


def _module(work):
    return importlib.import_module(f"tfnmt_programs.commands.benchmarks.{work.replace('-', '_')}")
