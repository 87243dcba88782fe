"""How fast a SPINN classifier of sentence pairs is trained here, in pairs a second: beside the post's model in PyTorch,
beside the same with its trees batched by level, or beside itself one pair at a time.

The model is the post's (Bradbury 2017), in its sizes unless told: fixed word vectors of 300 and a trained projection to
h and c, batch normalisation and dropout on both, TreeLSTM, tracker of 64 where there is one, two hidden layers of 1024
over [p, h, p − h, p · h], RMSprop at 0.002. Both sides train on the same batches, and do the same in a step:

    encoder        transitions while training      loss beside the classes'
    spinn-pi-nt    given, no tracker               –
    spinn-pi       given                           –
    spinn          given                           that of the tracker's predictions, weight 1
    rl-spinn       drawn, one parse a sentence     REINFORCE on the log-likelihood, weight 1
"""

import contextlib
import logging
import statistics
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.optimizers import make_optimizer
from tfnmt_programs.benchmarks.alternation import alternate, ratio_figures
from tfnmt_programs.benchmarks.classifier_work import training_flop_per_pair
from tfnmt_programs.benchmarks.machine_rates import machine_rate
from tfnmt_programs.benchmarks.spinn_peer import spinn_process
from tfnmt_programs.benchmarks.timed_fit import timed_fit
from tfnmt_programs.benchmarks.tree_batches import (
    VOCABULARY_SIZE,
    Batch,
    batches_of_file,
    equally_long_batches,
    random_batches,
    single_pairs,
)
from tfnmt_programs.benchmarks.untrained import placeholder_tokenizer
from tfnmt_programs.measuring import memory_growth, reset_peak_memory, resident_memory

logger = logging.getLogger(__name__)

SEED = 1
TRAINING = TrainingConfiguration(optimizer="rmsprop", learning_rate=0.002, clip_norm=None)


def compare_training(options: Namespace) -> dict[str, Any]:
    """Train both sides in turn, always on the same pairs.

    Args:
        options: has `encoder`, `units`, `tracker_units`, `embedding_size`, `head_units`, `batch_size`,
            `batches`, `examples`, `task`, `micro_batches`, `rounds`, `threads`, `peer_threads`, `peer` ("torch",
            "torch-by-level" or "batch-1") and `peer_python`, as `tfnmt benchmark` explains them.

    Returns:
        A dictionary of figures: medians, ratios, matrix rate, and our share of it.

    Raises:
        UserError: the file is wrong or too short, or the peer cannot be run.
    """
    if options.peer != "batch-1" and not options.peer_python:
        raise UserError("--peer-python is missing: a Python that has torch")
    if options.peer == "torch-by-level" and options.encoder != "spinn-pi-nt":
        raise UserError(f"--peer torch-by-level: goes with --encoder spinn-pi-nt alone, not {options.encoder}")
    batches, tokenizer = _batches(options)
    pairs = sum(len(labels) for _, labels in batches)
    logger.info("%d batches of %d pairs in each round", len(batches), options.batch_size)
    beside = beside_itself if options.peer == "batch-1" else beside_torch
    model = our_model(options, tokenizer)
    reset_peak_memory()  # from here on, as of the peer: of its model, what training adds
    memory = resident_memory()
    first_step, train = timed_fit(model, batches)
    train()  # every shape once, before the clock runs
    figures: dict[str, Any] = {"memory_growth": memory_growth(memory)}
    with beside(options, batches, model) as (peer, peer_figures):
        peer()  # likewise
        figures |= measured({"ours": lambda: pairs / train(), "peer": peer}, options.rounds)
        figures |= peer_figures()
    figures |= share_of_matrix_rate(model, batches, figures)
    return figures | {"unit": "pairs/s", "first_step_seconds": first_step} | described(model, options)


def compare_lengths(options: Namespace) -> dict[str, Any]:
    """Train one model on batches of long sentences and of short ones, of as many words, in turn.

    Args:
        options: as in `compare_training`, with `lengths`, (short, long), and `words`, in a batch.

    Returns:
        A dictionary of figures; "ours" is the rate with the long sentences, "peer" that with the short ones, in words a
        second, and "growth" how many times as long a word takes.
    """
    short, long = (equally_long_batches(options.words, n, options.batches, SEED) for n in options.lengths)
    model = our_model(options, placeholder_tokenizer(VOCABULARY_SIZE))
    first_step, train_long = timed_fit(model, long)
    _, train_short = timed_fit(model, short)
    train_long(), train_short()
    words = {"ours": _words(long), "peer": _words(short)}
    figures = measured(
        {"ours": lambda: words["ours"] / train_long(), "peer": lambda: words["peer"] / train_short()}, options.rounds
    )
    pairs_a_word = sum(len(labels) for _, labels in long) / words["ours"]
    figures |= share_of_matrix_rate(model, long, figures | {"ours": figures["ours"] * pairs_a_word})
    figures |= {"unit": "words/s", "growth": 1 / figures["ratio"], "first_step_seconds": first_step}
    return figures | described(model, options)


def our_model(options: Namespace, tokenizer: WordTokenizer, micro_batches: int | None = None) -> Classifier:
    """The classifier that is compared, compiled; in so many micro-batches, by default as the options say."""
    keras.utils.set_random_seed(SEED)
    configuration = CLASSIFIER_PRESETS["snli"].model.replace(
        task=getattr(options, "task", "snli"),
        encoder=options.encoder,
        embedding_size=options.embedding_size,
        projection=2 * options.units,
        units=options.units,
        tracker_units=options.tracker_units,
        head_units=options.head_units,
        samples=1,
        entropy_weight=0.0,
        micro_batches=micro_batches or options.micro_batches,
    )
    model = Classifier(configuration, tokenizer)
    model.compile(make_optimizer(TRAINING, total_updates=1))
    return model


Side = tuple[Callable[[], float], Callable[[], dict[str, Any]]]
"""A function that lets a side train once and gives its rate, and one that gives further figures."""


@contextlib.contextmanager
def beside_torch(options: Namespace, batches: Sequence[Batch], model: Classifier) -> Iterator[Side]:
    """The peer in PyTorch, of our model's sizes."""
    c = model.configuration
    arguments = ENCODERS[c.encoder].arguments(c)
    settings = {
        "encoder_alone": False,
        "vocabulary_size": model.tokenizer.vocabulary_size,
        "embedding_size": c.embedding_size,
        "units": c.units,
        "tracker_units": arguments.get("tracker_units"),
        "parse": arguments.get("parse", "given"),
        "head_units": c.head_units,
        "head_layers": c.head_layers,
        "classes": len(c.labels),
        "embedding_dropout": c.embedding_dropout,
        "head_dropout": c.head_dropout,
        "learning_rate": TRAINING.learning_rate,
        "threads": options.peer_threads or options.threads,
        "seed": SEED,
    }
    pairs = sum(len(labels) for _, labels in batches)
    worker = "spinn_worker.py" if options.peer == "torch" else "spinn_by_level_worker.py"
    with spinn_process(options.peer_python, settings, batches, worker) as process:
        made, growth = process.answer(), []
        memory = resident_memory(process.process.pid)

        def train():
            seconds = process.ask()["seconds"]
            growth.append(memory_growth(memory, process.process.pid))
            return pairs / seconds

        def figures():
            weights = sum(int(np.prod(shape)) for shape in made["weights"].values())
            return {"peer_weights": weights, "peer_memory_growth": growth[0], "peer_version": made["torch"]}

        yield train, figures


@contextlib.contextmanager
def beside_itself(options: Namespace, batches: Sequence[Batch], model: Classifier) -> Iterator[Side]:
    """Our own model once more, trained on the same pairs one by one."""
    pairs = single_pairs(batches)
    _, train = timed_fit(our_model(options, model.tokenizer, micro_batches=1), pairs)
    yield lambda: len(pairs) / train(), dict


def measured(sides: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Medians and ratios of the rates of "ours" and "peer", and the matrix rate, all measured in turn."""
    rates = alternate(sides | {"matrix": machine_rate}, rounds)
    return ratio_figures(rates["ours"], rates["peer"]) | {"matrix_gflops": statistics.median(rates["matrix"])}


def share_of_matrix_rate(model: Classifier, batches: Sequence[Batch], figures: Mapping[str, float]) -> dict[str, float]:
    """What our rate (pairs a second) says of the products in a step, beside what this machine can multiply."""
    flop = training_flop_per_pair(model, batches)
    share = figures["ours"] * flop / figures["matrix_gflops"] / 1e9
    return {"share_of_matrix_rate": share, "mflop_per_pair": flop / 1e6}


def described(model: Classifier, options: Namespace) -> dict[str, Any]:
    """The sizes that figures are about."""
    names = ("encoder", "units", "tracker_units", "embedding_size", "head_units", "micro_batches", "rounds", "threads")
    figures = {name: getattr(options, name) for name in (*names, "peer_threads")}
    return figures | {"weights": model.count_params()}


def _batches(options):
    if options.examples is None:
        return random_batches(options.batch_size, options.batches, SEED), placeholder_tokenizer(VOCABULARY_SIZE)
    return batches_of_file(options.examples, options.task, options.batch_size, options.batches, SEED)


def _words(batches):
    return sum(int(np.count_nonzero(sentences["words"])) for sentences, _ in batches)
