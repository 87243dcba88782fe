"""Train a classifier of sentences on files of labelled examples, or on the task's own sample corpus."""

import argparse
import functools
import logging
from typing import TextIO

from tfnmt.classification.configuration import TOKENIZER_KEYS
from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.presets import CLASSIFIER_PRESETS, ClassifierPreset
from tfnmt.commands.one_process import train_in_process
from tfnmt.commands.parser import CommandParser
from tfnmt.commands.training_options import (
    add_board_options,
    add_dev_split,
    add_device_options,
    add_directory_options,
    add_setting_options,
    chosen_preset,
    chosen_settings,
    profiled_steps,
    refuse_dry_run,
    refuse_other_preset,
    refuse_other_tokenizers,
    refuse_split_with_resume,
)
from tfnmt.commands.unused_settings import warn_of_unused_settings
from tfnmt.commands.workers import run_training
from tfnmt.configuration import describe
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.translation.presets import find_preset

logger = logging.getLogger(__name__)


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    keys = describe(*dict(CLASSIFIER_PRESETS["tiny"]).values())
    parser.epilog = f"keys of --set, with their values in the preset tiny; --dry-run prints those of a run:\n{keys}"
    add_directory_options(parser)
    parser.add_argument(
        "--task", choices=TASKS, help="what is classified; sst2: two classes (a new run needs it, here or in --config)"
    )
    parser.add_argument("--encoder", choices=ENCODERS, help="what makes a vector of a sentence (likewise)")
    parser.add_argument("--preset", metavar="NAME", help=f"one of {', '.join(CLASSIFIER_PRESETS)} (default: tiny)")
    parser.add_argument("--train", nargs="+", metavar="F", help="training examples (default: the sample corpus)")
    parser.add_argument("--dev", nargs="+", metavar="F", help="examples by which the best weights are chosen")
    add_dev_split(parser)
    parser.add_argument("--vectors", metavar="F", help="word vectors: GloVe's text, or .npy with vocab.txt beside it")
    parser.add_argument(
        "--words",
        nargs="+",
        default=[],
        metavar="F",
        help="further examples, such as the test set, whose words get vectors, too; nothing is trained on them",
    )
    add_setting_options(parser)
    add_device_options(parser)
    add_board_options(parser)


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    if arguments.workers is not None:
        _chosen(arguments)  # so that mistakes are told before Ray starts
    run_training(train, arguments, output)


def train(arguments: argparse.Namespace) -> str | None:
    """Train as the options say, in this process; the line that tells the best score, in the process that scores."""
    from tfnmt.classification.training import train_classifier

    preset, files, dev_files, profile_steps = _chosen(arguments)
    of_vectors = {"embedding_size": "--vectors, which have a size of their own"} if arguments.vectors else {}
    warn_of_unused_settings(preset, arguments.set, of_vectors)
    train = functools.partial(
        train_classifier,
        preset=preset,
        training_files=files,
        dev_files=dev_files,
        vectors=arguments.vectors,
        word_files=arguments.words,
    )
    return train_in_process(train, arguments, preset, profile_steps)


def _chosen(arguments):
    """The preset, the training and dev files and the steps to profile that the options name, which go together."""
    refuse_dry_run(arguments)
    preset = _chosen_preset(arguments)
    files, dev_files = chosen_files(arguments)
    if arguments.words and not arguments.vectors:
        raise UserError("--words: means nothing without --vectors, for such words are not trained on")
    return preset, files, dev_files, profiled_steps(arguments)


def _chosen_preset(arguments):
    """The preset that the options name and change, or else that of the run to go on with."""
    from tfnmt.training.preparation import initial_preset
    from tfnmt.training.run_record import started_preset

    settings = chosen_settings(arguments, "task", "encoder")
    if arguments.resume:
        refuse_split_with_resume(arguments, "train")
        if arguments.vectors is not None:
            logger.warning("--vectors %s: is not read again; the run has its words and vectors", arguments.vectors)
        preset = started_preset(arguments.resume, ClassifierPreset).override(settings)
        if arguments.preset is not None or arguments.config is not None:
            made = ("embedding_size", *(TOKENIZER_KEYS if preset.training.initial else ()))  # as --vectors has it
            asked = chosen_preset(find_preset(arguments.preset or "tiny", CLASSIFIER_PRESETS), arguments, settings)
            refuse_other_preset(arguments, asked, preset, made)
        return preset
    base = find_preset(arguments.preset or "tiny", CLASSIFIER_PRESETS)
    preset = chosen_preset(base, arguments, settings, required=("task", "encoder"))
    if preset.training.initial is not None:
        first = initial_preset(preset).model
        own = {key: getattr(first, key) for key in TOKENIZER_KEYS}
        refuse_other_tokenizers(preset.model, base.model, own, preset.training.initial)
    return preset


def chosen_files(arguments: argparse.Namespace) -> tuple[list[str] | None, list[str] | int | None]:
    """The training and the dev files that the options name, or else (None, None). Of a run that is resumed, those that
    have been moved may be named alone; the others are None."""
    if arguments.resume:
        return arguments.train, arguments.dev
    if arguments.train is None:
        if arguments.dev is not None or arguments.dev_split is not None:
            given = "dev" if arguments.dev is not None else "dev-split"
            raise UserError(f"--train is missing: --{given} means nothing without it")
        return None, None
    if arguments.dev_split is not None:
        if arguments.dev is not None:
            raise UserError("--dev-split: takes the dev examples from --train; leave out --dev")
        return arguments.train, arguments.dev_split
    if arguments.dev is None:
        raise UserError(
            "--dev is missing: examples that are not trained on, by which the best weights are chosen; --dev-split 1000"
            " holds out 1,000 lines of --train"
        )
    return arguments.train, arguments.dev
