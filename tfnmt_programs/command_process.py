"""Commands of `tfnmt`, each in a process of its own."""

import logging
import subprocess
import sys
import time
from collections.abc import Sequence

from tfnmt.commands.run import environment_with
from tfnmt.errors import UserError

logger = logging.getLogger(__name__)


def run_command(command: Sequence[str]) -> str:
    """What a command prints; it saves a checkpoint and ends if this process is stopped.

    Args:
        command: a verb and its options, such as ["translate", "--model", "runs/de"].

    Raises:
        UserError: it ends with another status than 0.
    """
    logger.info("tfnmt %s", " ".join(command))
    start = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "tfnmt", *command], env=environment_with(), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            printed, _ = process.communicate()
        except KeyboardInterrupt:
            process.terminate()
            raise
    if process.returncode != 0:
        raise UserError(f"tfnmt {' '.join(command)}: status {process.returncode}")
    logger.info("done in %.0f seconds", time.monotonic() - start)
    return printed
