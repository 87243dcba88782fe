"""Commands of `tfnmt`, each in a process of its own."""

import contextlib
import logging
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tfnmt.commands.run import environment_with
from tfnmt.errors import UserError

logger = logging.getLogger(__name__)


def run_command(command: Sequence[str], standard_input: Path | None = None) -> str:
    """What a command prints; it saves a checkpoint and ends if this process is stopped.

    Args:
        command: a verb and its options, such as ["translate", "--model", "runs/de"].
        standard_input: the file that it reads; without one, what this process reads.

    Raises:
        UserError: it ends with another status than 0.
    """
    logger.info("tfnmt %s", " ".join(command))
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
        raise UserError(f"tfnmt {' '.join(command)}: status {process.returncode}")
    logger.info("done in %.0f seconds", time.monotonic() - start)
    return printed
