"""Count the multiplications of a translator's forward pass, part by part, and time what they take here."""

import argparse
from typing import TextIO

from tfnmt.commands.figures import json_line
from tfnmt.commands.parser import CommandParser, positive
from tfnmt.configuration import describe, parse_overrides
from tfnmt.translation.presets import PRESETS, find_preset


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    default = PRESETS["rnnsearch"]
    parser.epilog = (
        f"keys of --set, with their values in the preset rnnsearch:\n{describe(default.model, default.text)}"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--preset", default="rnnsearch", metavar="NAME", help=f"one of {', '.join(PRESETS)} (default: rnnsearch)"
    )
    kind.add_argument("--model", metavar="DIR", help="the sizes of a model that has been trained")
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="change the sizes; see below",
    )
    parser.add_argument("--source-words", type=positive, default=25, metavar="T", help="END counted (default: 25)")
    parser.add_argument("--target-words", type=positive, default=25, metavar="T", help="END counted (default: 25)")
    parser.add_argument(
        "--batch-size", type=positive, default=32, metavar="N", help="sentences timed at once (default: 32)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt_programs.benchmarks.cost import cost

    figures = cost(chosen_model(arguments), arguments.source_words, arguments.target_words, arguments.batch_size)
    if arguments.json:
        print(json_line(figures), file=output)
        return
    parts = figures.pop("parts")
    print(f"{'multiplications for a sentence':40}{'the post':>16}{'here':>16}", file=output)
    for part, count in parts.items():
        print(f"{part:40}{count['post']:16,}{count['here']:16,}", file=output)
    print(f"{'all':40}{figures.pop('multiplications_post'):16,}{figures.pop('multiplications_here'):16,}", file=output)
    for name, value in figures.items():
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.6f}" if value < 1 else f"{value:,.1f}"
        print(f"{name:40}{'':16}{text:>16}", file=output)


def chosen_model(arguments):
    """The model in the directory named, or an untrained one of the preset's sizes; with the changes asked for."""
    import tfnmt
    from tfnmt_programs.benchmarks.untrained import untrained_translator

    if arguments.model is not None:
        model = tfnmt.load(arguments.model, "translator")
        (configuration,) = parse_overrides(arguments.set, model.configuration)
        return tfnmt.Translator(configuration, model.source_tokenizer, model.target_tokenizer)
    preset = find_preset(arguments.preset)
    configuration, text = parse_overrides(arguments.set, preset.model, preset.text)
    return untrained_translator(configuration, text.vocabulary_size)
