"""Measure how fast this project works, beside another toolkit doing the same work on the same machine."""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TextIO

from tfnmt.classification.encoders import ENCODERS
from tfnmt.commands.figures import print_figures
from tfnmt.commands.parallel_files import add_parallel_files, chosen_parallel_files
from tfnmt.commands.parser import CommandParser, positive
from tfnmt.commands.server_process import server_process
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    works = parser.add_subparsers(dest="work", required=True, metavar="WORK")
    add_train_translator(works)
    add_translate(works)
    add_serve(works)
    add_train_classifier(works)
    add_lengths(works)
    add_board(works)
    add_read(works)
    add_rnn(works)


def add_train_translator(works):
    work = works.add_parser("train-translator", help="target words a second in training a translator")
    work.add_argument("--source", metavar="F", help="sentences, or a .tsv of both sides; .gz too (default: the sample)")
    work.add_argument("--target", metavar="F", help="their translations, line by line")
    work.add_argument(
        "--model",
        default="conditional",
        choices=("conditional", "input_feeding", "multi30k"),
        help="ours: as many products as the peer's, or the peer's kind of decoder with more products, or that preset"
        " (and a peer of its sizes, which are smaller) (default: conditional)",
    )
    work.add_argument(
        "--model-size",
        type=positive,
        default=512,
        metavar="N",
        help="units of decoder and attention; words' vectors and the encoder's directions have half (default: 512)",
    )
    work.add_argument(
        "--mixed-precision",
        choices=("ours", "both"),
        help="compute in bfloat16, weights in float32, as mixed_precision=true trains (default: neither side)",
    )
    work.add_argument("--batch-size", type=positive, default=64, metavar="N", help="pairs at once (default: 64)")
    work.add_argument("--batches", type=positive, default=30, metavar="N", help="batches in a round (default: 30)")
    add_micro_batches(work)
    add_comparison(work, peers=("joeynmt",))


def add_translate(works):
    work = works.add_parser("translate", help="sentences a second in translating, and how near that is to the floor")
    which = work.add_mutually_exclusive_group(required=True)
    which.add_argument("--model", metavar="DIR", help="the model directory")
    which.add_argument("--preset", metavar="P", help="random weights and sentences, in the sizes of that preset")
    work.add_argument("--source", metavar="F", help="sentences to translate, with --model; .gz too")
    work.add_argument("--beam-size", type=positive, default=5, metavar="K", help="1 is greedy search (default: 5)")
    work.add_argument("--batch-size", type=positive, default=64, metavar="N", help="sentences at once (default: 64)")
    work.add_argument("--shortlist", metavar="F", help="score likely words only, with --model: of tfnmt make-shortlist")
    work.add_argument(
        "--precision", default="float32", choices=("float32", "bfloat16"), help="of our products (default: float32)"
    )
    work.add_argument("--target", metavar="F", help="references, with --model: tell BLEU, and the exact search's, too")
    work.add_argument(
        "--bleu-tokenize", default="13a", choices=("13a", "intl", "char", "none"), help="sacrebleu's (default: 13a)"
    )
    add_comparison(work, peers=("joeynmt",), needed=False)


def add_train_classifier(works):
    work = works.add_parser(
        "train-classifier", help="sentence pairs a second in training a classifier that reads trees"
    )
    add_tree_classifier(work, batches=10, head_units=1024)
    work.add_argument("--batch-size", type=positive, default=128, metavar="N", help="pairs at once (default: 128)")
    work.add_argument("--examples", metavar="F", help="pairs with trees (default: drawn at random, as long as SNLI's)")
    work.add_argument("--task", default="snli", choices=("snli", "sick", "logic"), help="what the examples are")
    add_comparison(
        work,
        peers=("torch", "batch-1"),
        peer_help="the post's model in PyTorch, or our own, one pair at a time",
        needs_python=False,
    )
    work.add_argument("--peer-threads", type=positive, metavar="N", help="threads of the peer (default: as ours)")


def add_lengths(works):
    work = works.add_parser(
        "lengths", help="words a second with long sentences beside short ones, as many words a batch"
    )
    add_tree_classifier(work, batches=5, head_units=16)  # small: short sentences come in more pairs
    work.add_argument("--words", type=positive, default=3200, metavar="N", help="words in a batch (default: 3200)")
    work.add_argument(
        "--lengths", type=positive, nargs=2, default=(10, 200), metavar="N", help="short and long (default: 10 200)"
    )
    add_measuring(work)
    work.set_defaults(peer="itself", peer_threads=None)


def add_board(works):
    work = works.add_parser("board", help="the part of a training run's time that writing for TensorBoard takes")
    work.add_argument("--preset", default="tiny", metavar="P", help="what is trained (default: tiny)")
    work.add_argument("--epochs", type=positive, default=2, metavar="N", help="of the run (default: 2)")
    add_parallel_files(work)
    work.add_argument("--json", action="store_true", help="print one JSON object")


def add_read(works):
    work = works.add_parser("read", help="how fast a large file of pairs with trees becomes batches")
    work.add_argument("--examples", metavar="F", help="the file (default: one as long as SNLI's is generated)")
    pairs = [name for name, task in TASKS.items() if task.sentences == 2]
    work.add_argument("--task", default="snli", choices=pairs, help="what it holds (default: snli)")
    work.add_argument(
        "--count", type=positive, default=550_000, metavar="N", help="pairs of a generated file (default: 550000)"
    )
    work.add_argument("--batch-size", type=positive, default=128, metavar="N", help="pairs at once (default: 128)")
    work.add_argument("--batches", type=positive, default=1000, metavar="N", help="that are timed (default: 1000)")
    work.add_argument("--json", action="store_true", help="print one JSON object")


def add_rnn(works):
    work = works.add_parser("rnn", help="a recurrent layer's training step, beside Keras's RNN and GRU")
    work.add_argument("--rounds", type=positive, default=15, metavar="N", help="times each layer works (default: 15)")
    work.add_argument("--threads", type=positive, default=2, metavar="N", help="threads (default: 2)")
    work.add_argument(
        "--shapes",
        nargs="+",
        type=shape_of_rnn,
        metavar="TxBxU",
        help="time x batch x units (default: 30x64x256 30x64x512 100x16x64 30x8x128)",
    )
    work.add_argument("--json", action="store_true", help="print one JSON object")


def shape_of_rnn(text):
    try:
        time, batch, units = map(positive, text.split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not time x batch x units, such as 30x64x256") from None
    return time, batch, units


def add_tree_classifier(work, batches, head_units):
    work.add_argument("--encoder", required=True, choices=[name for name, e in ENCODERS.items() if e.builds_trees])
    add_micro_batches(work)
    sizes = {
        "units": (300, "size of h and of c"),
        "tracker-units": (64, "size of the tracker's state"),
        "embedding-size": (300, "size of the fixed word vectors"),
        "head-units": (head_units, "size of the two hidden layers over a pair"),
        "batches": (batches, "batches in a round"),
    }
    for name, (size, meaning) in sizes.items():
        work.add_argument(f"--{name}", type=positive, default=size, metavar="N", help=f"{meaning} (default: {size})")


def add_serve(works):
    work = works.add_parser("serve", help="requests a second that the server answers, one sentence each, and how soon")
    work.add_argument("--model", required=True, metavar="NAME", help="a servable")
    work.add_argument(
        "--models", default="saved_models", metavar="DIR", help="the folder of servables (default: saved_models)"
    )
    work.add_argument("--clients", type=positive, metavar="N", help="asking at once (default: 1, then 8, then 32)")
    work.add_argument("--seconds", type=positive, default=10, metavar="T", help="of each measurement (default: 10)")
    work.add_argument("--json", action="store_true", help="print one JSON object")


def add_comparison(work, peers, peer_help="the other toolkit", needed=True, needs_python=True):
    """What all works have that are done beside another."""
    work.add_argument("--peer", required=needed, choices=peers, help=peer_help)
    work.add_argument(
        "--peer-python", required=needed and needs_python, metavar="PATH", help="a Python that has the peer installed"
    )
    add_measuring(work)


def add_micro_batches(work):
    work.add_argument(
        "--micro-batches",
        type=positive,
        default=2,
        metavar="N",
        help="micro-batches that we train a batch in, in parallel (default: 2)",
    )


def add_measuring(work):
    """What all works have that take turns."""
    work.add_argument("--rounds", type=positive, default=5, metavar="N", help="times each side works (default: 5)")
    work.add_argument("--threads", type=positive, default=2, metavar="N", help="threads of each side (default: 2)")
    work.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    alone = {"serve": serve_figures, "board": board, "read": read, "rnn": rnn}
    if arguments.work in alone:
        figures = alone[arguments.work](arguments)
        print_figures({"work": arguments.work} | figures, arguments.json, output)
        return
    import tensorflow as tf

    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"others are at work on this machine (load {load:.1f}): the ratio says little", file=sys.stderr)
    tf.config.threading.set_intra_op_parallelism_threads(threads_of_an_operation(arguments))
    tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)
    measure = {
        "train-translator": train_translator,
        "translate": translate,
        "train-classifier": train_classifier,
        "lengths": lengths,
    }
    figures = measure[arguments.work](arguments)
    figures = {"work": arguments.work} | figures | {"peer_name": arguments.peer, "load_before": load}
    print_figures(figures, arguments.json, output)


def threads_of_an_operation(arguments):
    """As many as training takes that shares out so many threads; all of them for a search."""
    return arguments.threads if arguments.work == "translate" else max(1, arguments.threads // arguments.micro_batches)


def serve_figures(arguments):
    from tfnmt.data.samples.translation import sample_pairs
    from tfnmt.serving.files import version_numbers
    from tfnmt_programs.benchmarks.serving import in_process_rate, server_figures

    folder = Path(arguments.models, arguments.model)
    versions = version_numbers(folder)
    if not versions:
        raise UserError(f"{folder}: there is no exported version; tfnmt export makes one")
    sentences = [source for source, _ in sample_pairs(200, seed=0, split="test")]
    figures = {"in_process_per_second": in_process_rate(folder / str(versions[-1]), sentences)}
    for batching, options in (("batched", []), ("unbatched", ["--max-batch-size", "1", "--batch-wait-ms", "0"])):
        with server_process(arguments.models, *options) as (url, _):
            for clients in [arguments.clients] if arguments.clients else [1, 8, 32]:
                measured = server_figures(url, arguments.model, sentences, clients, arguments.seconds)
                share = measured["requests_per_second"] / figures["in_process_per_second"]
                measured["share_of_in_process"] = share
                figures |= {f"{batching}_{clients}_clients_{name}": value for name, value in measured.items()}
    return figures


def board(arguments):
    from tfnmt.translation.presets import find_preset
    from tfnmt_programs.benchmarks.tensorboard_cost import tensorboard_cost

    preset = find_preset(arguments.preset)
    preset = preset.replace(training=preset.training.replace(epochs=arguments.epochs))
    with tempfile.TemporaryDirectory() as directory:
        return {"preset": arguments.preset} | tensorboard_cost(preset, *chosen_parallel_files(arguments, directory))


def read(arguments):
    from tfnmt_programs.benchmarks.reading_speed import reading_speed, write_pairs

    with tempfile.TemporaryDirectory() as directory:
        path = arguments.examples
        if path is None:
            path = Path(directory, "pairs.jsonl")
            write_pairs(path, arguments.count)
        return reading_speed(path, arguments.task, arguments.batch_size, arguments.batches)


def rnn(arguments):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)
    from tfnmt_programs.benchmarks.rnn import SHAPES, Shape, compare_rnn

    shapes = SHAPES if arguments.shapes is None else [Shape(*shape) for shape in arguments.shapes]
    figures = {"threads": arguments.threads} | compare_rnn(shapes, arguments.rounds)
    if arguments.json:
        return figures
    for each in figures.pop("shapes"):
        shape, ratio = each.pop("shape"), each.pop("ratio")
        figures |= {f"{shape} {name} ms": 1000 * seconds for name, seconds in each.items()}
        figures |= {f"{shape} {name} / ours": value for name, value in ratio.items()}
    mean = figures.pop("mean_ratio")
    return figures | {f"mean {name} / ours": value for name, value in mean.items()}


def train_translator(arguments):
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.data.samples.translation import write_sample
    from tfnmt_programs.benchmarks.translator_training import compare_training

    if arguments.target and not arguments.source:
        raise UserError("--source is missing: the sentences that --target translates")
    if arguments.source:
        return compare_training(ParallelFiles(arguments.source, arguments.target), arguments)
    with tempfile.TemporaryDirectory() as directory:
        sample = write_sample(directory)
        return compare_training(ParallelFiles(sample["train.en"], sample["train.de"]), arguments)


def translate(arguments):
    from tfnmt_programs.benchmarks.translation_speed import translation_speed

    if arguments.model and not arguments.source:
        raise UserError("--source is missing: the sentences that the model is to translate")
    for option in ("target", "shortlist"):
        if getattr(arguments, option) and not arguments.model:
            raise UserError(f"--{option} goes with --model and --source")
    return translation_speed(arguments)


def train_classifier(arguments):
    from tfnmt_programs.benchmarks.classifier_training import compare_training

    return compare_training(arguments)


def lengths(arguments):
    from tfnmt_programs.benchmarks.classifier_training import compare_lengths

    return compare_lengths(arguments)
