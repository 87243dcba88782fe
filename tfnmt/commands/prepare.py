"""Prepare a corpus of any size: filter its pairs, make the tokenizers, and write shards of ids to train on.

Several processes work on it, on this machine or on the cluster that RAY_ADDRESS names. The same command goes on after a
kill at any moment; what is done is not done again.
"""

import argparse
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parser import CommandParser, model_directory
from tfnmt.configuration import describe
from tfnmt.data.preparing.configuration import FilterConfiguration, ShardConfiguration
from tfnmt.text.tokenizer_configuration import TextConfiguration


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    keys = describe(FilterConfiguration(), TextConfiguration(), ShardConfiguration())
    parser.epilog = f"keys of --set, with their values:\n{keys}"
    add = parser.add_argument
    add("--output", required=True, metavar="DIR", help="where the records go")
    add(
        "--source", required=True, nargs="+", metavar="F", help="files or patterns of sentences, or .tsv; .gz, .zst too"
    )
    add("--target", nargs="+", metavar="F", help="as many files of their translations, line by line")
    meaning = "encode with those of this translator, a directory or one of tfnmt models, instead of making some"
    add("--tokenizers", type=model_directory, metavar="DIR", help=meaning)
    add("--set", nargs="+", default=[], metavar="KEY=VALUE", help="change a key; see below")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.ray_start import import_ray

    import_ray()  # first, since what follows needs what is installed with it
    from tfnmt.data.preparing.filters import REASONS
    from tfnmt.data.preparing.inputs import find_inputs
    from tfnmt.data.preparing.preparation import Preparation, prepare
    from tfnmt.errors import UserError
    from tfnmt.text.tokenizers import load_tokenizer
    from tfnmt.training.model_directory import read_configuration, require_kind
    from tfnmt.training.run_lock import lock_directory

    inputs = find_inputs(arguments.source, arguments.target)
    preparation, tokenizers = Preparation().override(arguments.set), None
    if arguments.tokenizers is not None:
        if preparation.text != TextConfiguration():
            raise UserError("--set changes how tokenizers are made, and --tokenizers names some that are there")
        require_kind(arguments.tokenizers, "translator")
        preparation = preparation.replace(**read_configuration(arguments.tokenizers, text=TextConfiguration))
        tokenizers = load_tokenizer(arguments.tokenizers, "source"), load_tokenizer(arguments.tokenizers, "target")
    directory = Path(arguments.output).absolute()
    with lock_directory(directory):
        index = prepare(directory, inputs, preparation, tokenizers).index
    for reason, count in index.counts.items():
        print(f"{count['pairs']:>14,}  {REASONS[reason]}", file=output)
        if first := count.get("first"):
            place = f"{first['file']}, line {first['line']:,}"
            print(f"{'':16}first: {place}: {first['source']!r} – {first['target']!r}", file=output)
