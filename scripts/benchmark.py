"""Measure how fast this project works, beside another toolkit doing the same work on the same machine."""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from _server import server_process
from _start import positive, run
from tfnmt.errors import UserError


def parser():
    parser = argparse.ArgumentParser(description=__doc__)
    works = parser.add_subparsers(dest="work", required=True, metavar="WORK")
    add_train_translator(works)
    add_serve(works)
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


def add_serve(works):
    work = works.add_parser("serve", help="requests a second that the server answers, one sentence each, and how soon")
    work.add_argument("--model", required=True, metavar="NAME", help="a servable")
    work.add_argument(
        "--models", default="saved_models", metavar="DIR", help="the folder of servables (default: saved_models)"
    )
    work.add_argument("--clients", type=positive, metavar="N", help="asking at once (default: 1, then 8, then 32)")
    work.add_argument("--seconds", type=positive, default=10, metavar="T", help="of each measurement (default: 10)")
    work.add_argument("--json", action="store_true", help="print one JSON object")


def add_comparison(work, peers):
    """What all works have."""
    work.add_argument("--peer", required=True, choices=peers, help="the other toolkit")
    work.add_argument("--peer-python", required=True, metavar="PATH", help="a Python that has the peer installed")
    work.add_argument("--rounds", type=positive, default=5, metavar="N", help="times each side works (default: 5)")
    work.add_argument("--threads", type=positive, default=2, metavar="N", help="threads of each side (default: 2)")
    work.add_argument("--json", action="store_true", help="print one JSON object")


def serve_figures(arguments):
    from tfnmt.data.sample import sample_pairs
    from tfnmt.serving.benchmark import in_process_rate, server_figures
    from tfnmt.serving.files import version_numbers

    folder = Path(arguments.models, arguments.model)
    versions = version_numbers(folder)
    if not versions:
        raise UserError(f"{folder}: there is no exported version; scripts/export.py makes one")
    sentences = [source for source, _ in sample_pairs(200, seed=0, split="test")]
    figures = {"work": "serve", "in_process_per_second": in_process_rate(folder / str(versions[-1]), sentences)}
    for batching, options in (("batched", []), ("unbatched", ["--max-batch-size", "1", "--batch-wait-ms", "0"])):
        with server_process(arguments.models, *options) as (url, _):
            for clients in [arguments.clients] if arguments.clients else [1, 8, 32]:
                measured = server_figures(url, arguments.model, sentences, clients, arguments.seconds)
                share = measured["requests_per_second"] / figures["in_process_per_second"]
                measured["share_of_in_process"] = share
                figures |= {f"{batching}_{clients}_clients_{name}": value for name, value in measured.items()}
    return figures


def main(arguments, output):
    if arguments.work == "serve":
        print_figures(serve_figures(arguments), arguments.json, output)
        return
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
    print_figures(figures, arguments.json, output)


def print_figures(figures, as_json, output):
    if as_json:
        print(json.dumps(figures), file=output)
    else:
        for name, value in figures.items():
            print(f"{name:>25}  {value:,.3f}" if isinstance(value, float) else f"{name:>25}  {value}", file=output)


if __name__ == "__main__":
    run(main, parser())
