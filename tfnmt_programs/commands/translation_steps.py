"""Draw one sentence's way through an encoder-decoder: its words, its vectors, and how each next word is chosen."""

import argparse
from pathlib import Path
from typing import TextIO

from tfnmt.commands.parser import CommandParser, positive
from tfnmt.errors import UserError


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--output", required=True, metavar="DIR", help="the folder for the pictures")
    parser.add_argument(
        "--model",
        metavar="DIR",
        default="sample-en-de-summary",
        help="a model with attention=none and deep_output=false (default: %(default)s, which is there)",
    )
    parser.add_argument("--sentence", metavar="TEXT", help="what to translate (default: one of the sample corpus)")
    parser.add_argument(
        "--step", type=positive, default=3, metavar="I", help="the word whose choice is drawn (default: 3)"
    )


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    import tfnmt
    from tfnmt.inspection.figures import save
    from tfnmt_programs.figures import translation_steps as steps

    model = tfnmt.load(arguments.model, "translator")
    found = steps.walk(model, steps.SENTENCE if arguments.sentence is None else arguments.sentence)
    if arguments.step > len(found.target):
        raise UserError(f"--step {arguments.step}: the translation has {len(found.target)} words, its end included")
    folder = Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{' '.join(found.source)} -> {' '.join(found.target)}", file=output)
    save(steps.draw_encoder_decoder(found), folder / "encoder_decoder.png")
    figure, spread = steps.draw_words(found)
    save(figure, folder / "words.png")
    print("; ".join(f"distances of {name} differ by up to {value:.2f}" for name, value in spread.items()), file=output)
    figure, shown = steps.draw_next_word(found, arguments.step)
    save(figure, folder / "next_word.png")
    print("; ".join(f"{name}: {value:.3f}" for name, value in shown.items()), file=output)
