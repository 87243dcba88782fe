"""Translate standard input to standard output: one line in, one line out, in order."""

import argparse
import sys

from _start import positive, run


def parser():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, metavar="DIR", help="the model directory")
    parser.add_argument("--beam-size", type=positive, default=5, metavar="K", help="1 is greedy search (default: 5)")
    parser.add_argument("--batch-size", type=positive, default=64, metavar="N", help="sentences at once (default: 64)")
    return parser


def main(arguments, output):
    import tfnmt
    from tfnmt.models.streaming import translate_stream

    model = tfnmt.load(arguments.model, "translator")
    for translation in translate_stream(model, sys.stdin.buffer, arguments.beam_size, arguments.batch_size):
        print(translation, file=output, flush=True)


if __name__ == "__main__":
    run(main, parser())
