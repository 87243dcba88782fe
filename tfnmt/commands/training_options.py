"""What training commands have in common: options of a run and about TensorBoard, and the line that they print."""

import argparse
import logging
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from tfnmt.commands.configuration_file import configured
from tfnmt.commands.parser import CommandParser, model_directory, not_negative, positive
from tfnmt.configuration import setting_text
from tfnmt.errors import UserError
from tfnmt.training.configuration import MAY_CHANGE

logger = logging.getLogger(__name__)

MAX_FAILURES = 3
"""How often workers are started again, unless options say otherwise."""


def add_directory_options(parser: CommandParser) -> None:
    """Options that name the directory of a new run, or of one to go on with."""
    parser.add_argument("--output", metavar="DIR", help="the model directory of a new run")
    parser.add_argument(
        "--resume",
        nargs="?",
        const=True,
        metavar="DIR",
        help="go on with the run in DIR, which knows its options and files: after a kill at any moment, or with other"
        f" values of {', '.join(MAY_CHANGE)}; without DIR, with that in --output",
    )
    parser.checks.append(_settle_directory)


def _settle_directory(arguments):
    """Make `--resume DIR` of `--output DIR --resume`; one of the two options must be there."""
    output, resume = arguments.output, arguments.resume
    if resume is True:
        if output is None:
            raise UserError("argument --resume: name the run's directory, as in --resume DIR")
        arguments.resume, arguments.output = output, None
    elif output is None and resume is None:
        raise UserError("one of the arguments --output --resume is required")
    elif output is not None and resume is not None:
        raise UserError("argument --output DIR: not allowed with argument --resume DIR")


def add_device_options(parser: CommandParser) -> None:
    """Options about which devices and workers train."""
    parser.add_argument(
        "--strategy",
        choices=("none", "mirrored", "multiworker"),
        help="none: one device; mirrored: all GPUs of this machine; multiworker: the workers that TF_CONFIG names"
        " (default: none; multiworker with --workers)",
    )
    parser.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="let Ray start N workers: on the cluster of RAY_ADDRESS or, without one, on this machine",
    )
    parser.add_argument(
        "--max-failures",
        type=not_negative,
        metavar="N",
        help=f"how often Ray starts them again after one has died (default: {MAX_FAILURES})",
    )


def add_setting_options(parser: CommandParser) -> None:
    """Options that change a preset."""
    parser.add_argument(
        "--config", metavar="F", help="settings in a file, over the preset's: YAML, or the config.json of a run"
    )
    for key in ("epochs", "steps"):
        parser.add_argument(f"--{key}", metavar="N", help=f"the same as --set {key}=N")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="change the preset; see below")
    parser.add_argument(
        "--initial",
        type=model_directory,
        metavar="DIR",
        help="begin with that model's words and weights; the same as --set initial=DIR",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="train on a few batches in a temporary folder, and print settings, weights, memory, batches and time",
    )


def add_dev_split(parser: CommandParser) -> None:
    """The option that takes the place of dev files."""
    parser.add_argument(
        "--dev-split",
        type=positive,
        metavar="N",
        help="without dev files: hold N lines of the training files out, with those that repeat one of them, and choose"
        " the best weights by them",
    )


def chosen_preset(preset: Any, arguments: argparse.Namespace, settings: list[str], required: Sequence[str] = ()) -> Any:
    """A preset with what `--config` and, over it, `settings` say. One of the two must have the keys `required`."""
    given = {setting.partition("=")[0] for setting in settings}
    missing = [key for key in required if key not in given]
    if arguments.config is not None:
        preset = configured(preset, arguments.config, missing)
    elif missing:
        raise UserError(f"--{missing[0]} is missing; --help lists all options")
    return preset.override(settings)


def refuse_other_tokenizers(configuration: Any, base: Any, own: dict[str, Any], directory: str | Path) -> None:
    """Raise `UserError` if options ask for other tokenizers than there are already: of records, or of a model to begin
    with, which training takes in the place of the preset's.

    Args:
        configuration: what the options ask for.
        base: the same before `--config` and `--set` changed it.
        own: the keys about tokenizers, with the values that these were made with.
        directory: where the tokenizers are, for the message.
    """
    for key, value in own.items():
        asked = getattr(configuration, key)
        if asked not in (getattr(base, key), value):
            made, other = (f"{key}={setting_text(v)}" for v in (value, asked))
            raise UserError(f"{directory}: its tokenizers were made with {made}; leave out {other}")


def refuse_dry_run(arguments: argparse.Namespace) -> None:
    """Raise `UserError` if `--dry-run` stands beside options that it cannot go with."""
    for option in ("resume", "workers", "profile_steps"):
        if arguments.dry_run and getattr(arguments, option) is not None:
            raise UserError(f"--dry-run: is about a new run in one process; leave out --{option.replace('_', '-')}")
    if arguments.dry_run and arguments.strategy == "multiworker":
        raise UserError("--dry-run: is about a new run in one process; leave out --strategy multiworker")


def chosen_settings(arguments: argparse.Namespace, *keys: str) -> list[str]:
    """The settings `key=value` that `--set` and the options of keys name: these keys', and the common ones.

    Raises:
        UserError: an option and `--set` give one key different values.
    """
    of_options = [
        f"{key}={value}"
        for key in (*keys, "epochs", "steps", "initial")
        if (value := getattr(arguments, key)) is not None
    ]
    for setting in of_options:
        key = setting.partition("=")[0]
        for other in arguments.set:
            if other.partition("=")[0] == key and other != setting:
                raise UserError(f"--{setting.replace('=', ' ', 1)}: --set has {other}; leave one of the two out")
    return arguments.set + of_options


def warn_of_unprofiled(profile_steps: tuple[int, int] | None, before: int, after: int) -> None:
    """Log a warning if a run that had so many steps before, and has so many after, did not come through those that were
    to be profiled."""
    if profile_steps is None or before < profile_steps[0] <= after:
        return
    went = f"ended after step {after}" if after < profile_steps[0] else f"went on after step {before}"
    logger.warning("--profile-steps %d-%d: the run %s", *profile_steps, went)


def refuse_split_with_resume(arguments: argparse.Namespace, *options: str) -> None:
    """Raise `UserError` if `--dev-split`, which divides the files of these options, is given with `--resume`."""
    if arguments.dev_split is not None:
        files = " and ".join(f"--{option}" for option in options)
        raise UserError(
            f"--dev-split: the run in {arguments.resume} reads what it has divided; leave it and {files} out"
        )


def refuse_other_preset(arguments: argparse.Namespace, asked: Any, run: Any, made: Collection[str] = ()) -> None:
    """Raise `UserError` if a command that goes on with a run names another preset, or settings in a file, than the run
    has.

    Args:
        arguments: the options, with `--resume` and `--preset` or `--config`.
        asked: the preset that they would begin a new run with.
        run: that of the run, with what `--set` changes.
        made: keys whose values come from elsewhere, such as a model to begin with.
    """
    if arguments.config is None:  # a preset alone does not ask for its epochs
        option, others = f"--preset {arguments.preset}", (*MAY_CHANGE, *made)
    else:
        option, others = f"--config {arguments.config}", tuple(made)
    for name, configuration in asked:
        for key, value in configuration:
            its_own = getattr(getattr(run, name), key)
            if value != its_own and key not in others:
                its_own, value = setting_text(its_own), setting_text(value)
                raise UserError(
                    f"{option}: the run in {arguments.resume} has {key}={its_own}, not {value};"
                    f" leave {option.split()[0]} out, or name all that the run was started with"
                )


def add_board_options(parser: CommandParser) -> None:
    """Options about TensorBoard."""
    parser.add_argument("--no-board", action="store_true", help="write nothing for TensorBoard to DIR/logs")
    parser.add_argument(
        "--profile-steps", type=_steps, metavar="A-B", help="let TensorFlow's profiler watch these batches"
    )


def _steps(text):
    """ "A-B" → (A, B)."""
    first, _, last = text.partition("-")
    if not (first and last and positive(first) <= positive(last)):
        raise argparse.ArgumentTypeError(f"{text}: should be A-B, whole numbers with 1 <= A <= B, such as 20-30")
    return int(first), int(last)


def profiled_steps(arguments: argparse.Namespace) -> tuple[int, int] | None:
    """The first and the last step to profile, or None if not asked for."""
    if arguments.profile_steps is not None and arguments.no_board:
        raise UserError("--profile-steps writes for TensorBoard: leave out --no-board")
    return arguments.profile_steps


def best_score(directory: str, selection: str, progress: Any) -> str:
    """A line with the best dev score of a run's `Progress`, by the measure that the weights are selected by."""
    best = f"best dev_{selection} {abs(progress.best_score):.4f}, of epoch {progress.best_epoch}"
    return f"{directory}: {best}"


def read_best_score(printed: str) -> tuple[str, float]:
    """The measure and the score of the last line of `best_score` in what a training has printed."""
    measure, score = re.findall(r"best (dev_\w+) (\S+), of epoch", printed)[-1]
    return measure, float(score)
