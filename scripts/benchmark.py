"""Measure how fast this project works, beside another toolkit doing the same work on the same machine."""

import argparse
import json
import os
import sys
import tempfile

from _start import positive, run
from tfnmt.errors import UserError


def parser():
    parser = argparse.ArgumentParser(description=__doc__)
    works = parser.add_subparsers(dest="work", required=True, metavar="WORK")
    add_train_translator(works)
    for work in works.choices.values():
        work.error = lambda message: parser.error(message)
    return parser


def add_train_translator(works):
    work = works.add_parser("train-translator", help="target words a second in training a translator")
    work.add_argument("--source", metavar="F", help="sentences, or a .tsv of both sides; .gz too (default: the sample)")
    work.add_argument("--target", metavar="F", help="their translations, line by line")
    work.add_argument(
        "--model",
        default="conditional",
        choices=("conditional", "input_feeding", "multi30k"),
        help="ours: as many products as the peer's, or the peer's kind of decoder with more products, or the sizes of"
        " that preset, which are smaller (default: conditional)",
    )
    work.add_argument(
        "--model-size",
        type=positive,
        default=512,
        metavar="N",
        help="units of decoder and attention; words' vectors and the encoder's directions have half (default: 512)",
    )
    work.add_argument("--batch-size", type=positive, default=64, metavar="N", help="pairs at once (default: 64)")
    work.add_argument("--batches", type=positive, default=30, metavar="N", help="batches in a round (default: 30)")
    add_comparison(work, peers=("joeynmt",))


def add_comparison(work, peers):
    """What all works have."""
    work.add_argument("--peer", required=True, choices=peers, help="the other toolkit")
    work.add_argument("--peer-python", required=True, metavar="PATH", help="a Python that has the peer installed")
    work.add_argument("--rounds", type=positive, default=5, metavar="N", help="times each side works (default: 5)")
    work.add_argument("--threads", type=positive, default=2, metavar="N", help="threads of each side (default: 2)")
    work.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments, output):
    import tensorflow as tf

    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.data.sample import write_sample
    from tfnmt.inspection.translator_training import compare_training

    if arguments.target and not arguments.source:
        raise UserError("--source is missing: the sentences that --target translates")
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"others are at work on this machine (load {load:.1f}): the ratio says little", file=sys.stderr)
    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as directory:
        if arguments.source is None:
            sample = write_sample(directory)
            files = ParallelFiles(sample["train.en"], sample["train.de"])
        else:
            files = ParallelFiles(arguments.source, arguments.target)
        figures = compare_training(files, arguments)
    figures = {"work": arguments.work} | figures | {"peer_name": arguments.peer, "load_before": load}
    if arguments.json:
        print(json.dumps(figures), file=output)
    else:
        for name, value in figures.items():
            print(f"{name:>25}  {value:,.3f}" if isinstance(value, float) else f"{name:>25}  {value}", file=output)


if __name__ == "__main__":
    run(main, parser())
