"""Draw figures from trained models, as PNG or SVG (by the ending of --output)."""

import argparse
from pathlib import Path

from _start import run


def parser():
    parser = argparse.ArgumentParser(description=__doc__)
    figures = parser.add_subparsers(dest="figure", required=True, metavar="FIGURE")
    length = figures.add_parser("length", help="BLEU by sentence length, a line for each model")
    length.add_argument("--output", required=True, metavar="F", help="the picture, .png or .svg")
    length.add_argument("--model", required=True, nargs="+", metavar="DIR", help="model directories")
    length.add_argument("--source", required=True, metavar="F", help="sentences, or a .tsv of both sides")
    length.add_argument("--target", metavar="F", help="their reference translations, line by line")
    length.add_argument("--beam-size", type=int, default=5, metavar="K", help="1 is greedy search (default: 5)")
    length.add_argument("--bleu-tokenize", default="13a", choices=("13a", "intl", "char", "none"))
    return parser


def main(arguments, output):
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


if __name__ == "__main__":
    run(main, parser())
