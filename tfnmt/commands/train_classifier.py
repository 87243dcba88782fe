"""Train a classifier of sentences on files of labelled examples, or on the task's own sample corpus."""

import argparse
import tempfile
from typing import TextIO

from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.commands.parser import CommandParser
from tfnmt.commands.training_options import add_board_options, print_best_score, profiled_steps
from tfnmt.configuration import describe
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.translation.presets import find_preset


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    keys = describe(*dict(CLASSIFIER_PRESETS["tiny"]).values())
    parser.epilog = f"keys of --set, with their values in the preset tiny:\n{keys}"
    parser.add_argument("--output", required=True, metavar="DIR", help="the model directory")
    parser.add_argument("--task", required=True, choices=TASKS, help="what is classified; sst2: two classes")
    parser.add_argument("--encoder", required=True, choices=ENCODERS, help="what makes a vector of a sentence")
    parser.add_argument(
        "--preset", default="tiny", metavar="NAME", help=f"one of {', '.join(CLASSIFIER_PRESETS)} (default: tiny)"
    )
    parser.add_argument("--train", nargs="+", metavar="F", help="training examples (default: the sample corpus)")
    parser.add_argument("--dev", nargs="+", metavar="F", help="examples by which the best weights are chosen")
    parser.add_argument("--vectors", metavar="F", help="word vectors: GloVe's text, or .npy with vocab.txt beside it")
    parser.add_argument("--epochs", metavar="N", help="the same as --set epochs=N")
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="change the preset; see below"
    )
    parser.add_argument(
        "--initial", metavar="DIR", help="begin with that model's words and weights; the same as --set initial=DIR"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the run in DIR, after a kill at any moment")
    add_board_options(parser)


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    from tfnmt.classification.training import train_classifier
    from tfnmt.inspection.classification_callbacks import tensorboard_callbacks
    from tfnmt.threads import share_processors

    preset = find_preset(arguments.preset, CLASSIFIER_PRESETS)
    chosen = [f"task={arguments.task}", f"encoder={arguments.encoder}"]
    named = [f"{key}={value}" for key in ("epochs", "initial") if (value := getattr(arguments, key)) is not None]
    preset = preset.override(arguments.set + chosen + named)
    profile_steps = profiled_steps(arguments)
    share_processors(preset.model.micro_batches)
    with tempfile.TemporaryDirectory() as directory:
        files, dev_files = _chosen_files(arguments, directory)
        callbacks = tensorboard_callbacks(arguments.output, preset, profile_steps) if not arguments.no_board else None
        _, progress = train_classifier(
            arguments.output, preset, files, dev_files, arguments.vectors, arguments.resume, callbacks
        )
    print_best_score(arguments.output, preset.training.selection, progress, output)


def _chosen_files(arguments, directory):
    """The files that the options name, or else the sample corpus, written to `directory`: training's and dev's."""
    if arguments.train is None:
        if arguments.dev is not None:
            raise UserError("--train is missing: --dev means nothing without it")
        sample = TASKS[arguments.task].write_sample(directory)
        return [sample["train"]], [sample["dev"]]
    if arguments.dev is None:
        raise UserError("--dev is missing: examples that are not trained on, by which the best weights are chosen")
    return arguments.train, arguments.dev
