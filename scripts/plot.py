"""Draw figures, most of them from trained models, as PNG or SVG (by the ending of --output)."""

import argparse
from pathlib import Path

from _start import run
from tfnmt.errors import UserError


def parser():
    parser = argparse.ArgumentParser(description=__doc__)
    figures = parser.add_subparsers(dest="figure", required=True, metavar="FIGURE")
    for add in (add_length, add_saddle):
        add(figures)
    return parser


def add_figure(figures, name, draw, meaning, endings=".png or .svg"):
    """A figure's own options; `draw(arguments, output)` makes it."""
    figure = figures.add_parser(name, help=meaning, description=f"{meaning[0].upper()}{meaning[1:]}.")
    figure.add_argument("--output", required=True, metavar="F", help=f"the picture, {endings}")
    figure.set_defaults(draw=draw)
    return figure


def add_length(figures):
    length = add_figure(figures, "length", draw_length, "BLEU by sentence length, a line for each model")
    length.add_argument("--model", required=True, nargs="+", metavar="DIR", help="model directories")
    length.add_argument("--source", required=True, metavar="F", help="sentences, or a .tsv of both sides")
    length.add_argument("--target", metavar="F", help="their reference translations, line by line")
    length.add_argument("--beam-size", type=int, default=5, metavar="K", help="1 is greedy search (default: 5)")
    length.add_argument("--bleu-tokenize", default="13a", choices=("13a", "intl", "char", "none"))


def draw_length(arguments, output):
    import tfnmt
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.inspection.length import bleu_by_length, draw_bleu_by_length

    files = ParallelFiles(arguments.source, arguments.target)
    files.check()
    sources, references = (list(side) for side in files.sides())
    rows_of_models = {}
    for directory in arguments.model:
        translations = tfnmt.load(directory, "translator").translate(sources, arguments.beam_size)
        rows = bleu_by_length(sources, references, translations, tokenize=arguments.bleu_tokenize)
        rows_of_models[Path(directory).resolve().name] = rows
        for label, count, bleu in rows:
            print(f"{Path(directory).resolve().name}\t{label} words\t{count} sentences\tBLEU {bleu:.2f}", file=output)
    draw_bleu_by_length(rows_of_models).savefig(arguments.output, dpi=150)


def add_saddle(figures):
    add_figure(figures, "saddle", draw_saddle, "optimizers at a saddle point", ".png, .svg, or .gif to see it move")


def draw_saddle(arguments, output):
    from tfnmt.inspection.saddle import write_saddle

    for name, steps in write_saddle(arguments.output).items():
        print(f"{name}\t{'still there' if steps is None else f'{steps} steps'}", file=output)


def main(arguments, output):
    endings = (".png", ".svg", ".gif") if arguments.figure == "saddle" else (".png", ".svg")
    if not arguments.output.endswith(endings):
        raise UserError(f"--output {arguments.output}: its name must end in {' or '.join(endings)}")
    arguments.draw(arguments, output)


if __name__ == "__main__":
    run(main, parser())
