"""How fast a SPINN classifier of sentence pairs is trained here, in pairs a second: beside the post's model in PyTorch,
or beside itself one pair at a time.

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
import statistics

import keras
import numpy as np

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.errors import UserError
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.optimizers import make_optimizer
from tfnmt.training.runs import say
from tfnmt_programs.benchmarks.alternation import alternate, ratio_figures
from tfnmt_programs.benchmarks.classifier_work import training_products_per_pair
from tfnmt_programs.benchmarks.matrix_rate import machine_rate
from tfnmt_programs.benchmarks.pair_batches import (
    batches_of_file,
    drawn_batches,
    equally_long_batches,
    one_by_one,
    placeholder_tokenizer,
)
from tfnmt_programs.benchmarks.spinn_peer import spinn_worker
from tfnmt_programs.benchmarks.timed_fit import peak_memory, resident_memory, timed_fit

SEED = 1
TRAINING = TrainingConfiguration(optimizer="rmsprop", learning_rate=0.002, clip_norm=None)


def compare_training(options):
    """Train both sides in turn, always on the same pairs.

    Args:
        options: an object with `encoder`, `units`, `tracker_units`, `embedding_size`, `head_units`, `batch_size`,
            `batches`, `examples`, `task`, `micro_batches`, `rounds`, `threads`, `peer_threads`, `peer` ("torch" or
            "batch-1") and `peer_python`, as `tfnmt benchmark` explains them.

    Returns:
        A dictionary of figures: medians, ratios, matrix rate, and our share of it.

    Raises:
        UserError: the file is wrong or too short, or the peer cannot be run.
    """
    if options.peer == "torch" and not options.peer_python:
        raise UserError("--peer-python is missing: a Python that has torch")
    batches, tokenizer = _batches(options)
    pairs = sum(len(labels) for _, labels in batches)
    say(f"{len(batches)} batches of {options.batch_size} pairs in each round")
    beside = beside_torch if options.peer == "torch" else beside_itself
    memory = resident_memory()
    model = our_model(options, tokenizer)
    first_step, train = timed_fit(model, batches)
    with beside(options, batches, model) as (peer, peer_figures):
        train(), peer()  # every shape once, before the clock runs
        figures = {"memory_growth": peak_memory() - memory}
        figures |= measured({"ours": lambda: pairs / train(), "peer": peer}, options.rounds)
        figures |= peer_figures()
    figures |= share_of_matrix_rate(model, batches, figures)
    return figures | {"unit": "pairs/s", "first_step_seconds": first_step} | described(model, options)


def compare_lengths(options):
    """Train one model on batches of long sentences and of short ones, of as many words, in turn.

    Args:
        options: as in `compare_training`, with `lengths`, (short, long), and `words`, in a batch.

    Returns:
        A dictionary of figures; "ours" is the rate with the long sentences, "peer" that with the short ones, in words a
        second, and "growth" how many times as long a word takes.
    """
    short, long = (equally_long_batches(options.words, n, options.batches, SEED) for n in options.lengths)
    model = our_model(options, placeholder_tokenizer())
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


def our_model(options, tokenizer, micro_batches=None):
    """The `Classifier` that is compared, compiled; in so many micro-batches, by default as the options say."""
    keras.utils.set_random_seed(SEED)
    configuration = CLASSIFIER_PRESETS["snli"].model.replace(
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
    model.compile(make_optimizer(TRAINING, total_steps=1))
    return model


@contextlib.contextmanager
def beside_torch(options, batches, model):
    """A function that lets the peer train once and gives its rate, and one that gives further figures."""
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
    with spinn_worker(options.peer_python, settings, batches) as worker:
        said, answers = worker.answer(), []

        def peer():
            answers.append(worker.ask())
            return pairs / answers[-1]["seconds"]

        def figures():
            weights = sum(int(np.prod(shape)) for shape in said["weights"].values())
            memory = answers[0]["memory_growth"]
            return {"peer_weights": weights, "peer_memory_growth": memory, "peer_version": said["torch"]}

        yield peer, figures


@contextlib.contextmanager
def beside_itself(options, batches, model):
    """The same of our own model once more, trained on the same pairs one by one."""
    singles = one_by_one(batches)
    _, train = timed_fit(our_model(options, model.tokenizer, micro_batches=1), singles)
    yield lambda: len(singles) / train(), dict


def measured(sides, rounds):
    """Medians and ratios of the rates of "ours" and "peer", and the matrix rate, all measured in turn."""
    rates = alternate(sides | {"matrix": machine_rate}, rounds, say)
    return ratio_figures(rates["ours"], rates["peer"]) | {"matrix_gflops": statistics.median(rates["matrix"])}


def share_of_matrix_rate(model, batches, figures):
    """What our rate (pairs a second) says of the products in a step, beside what this machine can multiply."""
    flop = training_products_per_pair({weight.path: tuple(weight.shape) for weight in model.weights}, batches)
    share = figures["ours"] * flop / figures["matrix_gflops"] / 1e9
    return {"share_of_matrix_rate": share, "mflop_per_pair": flop / 1e6}


def described(model, options):
    """The sizes that figures are about."""
    names = ("encoder", "units", "tracker_units", "embedding_size", "head_units", "micro_batches", "rounds", "threads")
    figures = {name: getattr(options, name) for name in (*names, "peer_threads")}
    return figures | {"weights": model.count_params()}


def _batches(options):
    if options.examples is None:
        return drawn_batches(options.batch_size, options.batches, SEED), placeholder_tokenizer()
    return batches_of_file(options.examples, options.task, options.batch_size, options.batches, SEED)


def _words(batches):
    return sum(int(np.count_nonzero(sentences["words"])) for sentences, _ in batches)
