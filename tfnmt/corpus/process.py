"""Doing a task with every line of a corpus."""

import glob
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from tfnmt.corpus.folder import open_folder
from tfnmt.corpus.pool import finished
from tfnmt.corpus.tasks import Task
from tfnmt.data.progress import FIRST_AFTER, SECONDS_BETWEEN
from tfnmt.errors import UserError
from tfnmt.ray_start import ray_started
from tfnmt.training.signals import StopSignals

logger = logging.getLogger(__name__)


def process_corpus(
    task: Task, inputs: Sequence[Path], output: str | Path, replicas: int | None = None, threads: int = 1
) -> int:
    """Write a file to the output folder for each input file. What was done there before is not done again.

    Args:
        task: what is done with each line.
        inputs: plain, .gz or .zst, with different names. The output has the input's name, and is packed as it is.
        output: the folder, see `tfnmt.corpus.folder`. This process alone reads the input and writes the output.
        replicas: processes with the model; None for as many as there is room for.
        threads: of each.

    Returns:
        How many lines were done, this time.

    Raises:
        UserError: a file cannot be read or written, the folder is of another task, the model cannot be loaded, Ray is
            not installed, or the cluster does not answer or has no room.
    """
    lines = 0
    with StopSignals(lambda: "the same command goes on from there"), open_folder(output, task, inputs) as folder:
        if not folder.unfinished:
            return lines
        with ray_started() as ray:
            began, due = time.monotonic(), float(FIRST_AFTER)
            for result in finished(ray, task, folder.shards_to_do(), replicas, threads):
                folder.write(result)
                lines += result.lines
                seconds = time.monotonic() - began
                if seconds >= due:
                    logger.info("%s: %s lines, %s a second", output, f"{lines:,}", f"{lines / seconds:,.0f}")
                    due = seconds + SECONDS_BETWEEN
    return lines


def find_inputs(patterns: Sequence[str], output: str | Path) -> list[Path]:
    """The files that names or globs match, in order, each once.

    Raises:
        UserError: nothing matches one of them, two files have the same name, or the output would replace them.
    """
    found: dict[str, Path] = {}
    for pattern in patterns:
        paths = [pattern] if Path(pattern).is_file() else sorted(filter(Path.is_file, map(Path, glob.glob(pattern))))
        if not paths:
            raise UserError(f"{pattern}: no file matches")
        for path in map(Path, paths):
            other = found.setdefault(path.name, path)
            if other.resolve() != path.resolve():
                raise UserError(f"{other} and {path}: files of the same name would have the same output; rename one")
            if path.resolve().parent == Path(output).resolve():
                raise UserError(f"{path}: is in the output folder itself; name another --output")
    return list(found.values())
