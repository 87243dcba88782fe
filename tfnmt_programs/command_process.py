"""Commands of `tfnmt`, each in a process of its own; and whether they are such, before they are run."""

import argparse
import contextlib
import logging
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tfnmt.commands.parser import CommandParser
from tfnmt.commands.run import environment_with
from tfnmt.commands.verbs import VERBS, command_parser, load_command
from tfnmt.errors import UserError, nearest_name

logger = logging.getLogger(__name__)


def run_command(command: Sequence[str], standard_input: Path | None = None) -> str:
    """What a command prints; it saves a checkpoint and ends if this process is stopped.

    Args:
        command: a verb and its options, such as ["translate", "--model", "runs/de"].
        standard_input: the file that it reads; without one, what this process reads.

    Raises:
        UserError: it ends with another status than 0.
    """
    logger.info("tfnmt %s", shlex.join(command))
    start = time.monotonic()
    with (
        open(standard_input, "rb") if standard_input else contextlib.nullcontext() as stdin,
        subprocess.Popen(
            [sys.executable, "-m", "tfnmt", *command],
            env=environment_with(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C reaches this process alone, which passes it on: a second signal would kill
        ) as process,
    ):
        try:
            printed, _ = process.communicate()
        except KeyboardInterrupt:
            process.terminate()
            raise
    if process.returncode != 0:
        raise UserError(f"tfnmt {shlex.join(command)}: status {process.returncode}")
    logger.info("done in %.0f seconds", time.monotonic() - start)
    return printed


class _Parser(CommandParser):
    """Of a command that is to be run later."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.prog}: {message}; {self.prog} --help lists all options")


def resumed(training: Sequence[str]) -> list[str]:
    """The command that goes on with a training which has begun.

    Args:
        training: the command from its beginning, with --output. Of its other options those stay that a run does not
            record.

    Raises:
        UserError: as of `parse_command`.
    """
    arguments = parse_command(training)
    command = [training[0], "--resume", arguments.output]
    for name in ("strategy", "workers", "max_failures"):
        if (value := getattr(arguments, name)) is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    return [*command, "--no-board"] if arguments.no_board else command


def parse_command(command: Sequence[str]) -> argparse.Namespace:
    """The options of a command that is to be run later.

    Raises:
        UserError: there is no such verb, or it has no such options.
    """
    verb, *options = command
    if verb not in VERBS:
        raise UserError(f"unknown verb {verb!r}{nearest_name(verb, VERBS)}")
    return command_parser(verb, load_command(verb), _Parser).parse_args(options)
