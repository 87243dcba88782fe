"""Doing a task with every line of a corpus."""

from collections.abc import Sequence
from pathlib import Path

from tfnmt.corpus.folder import open_folder
from tfnmt.corpus.pool import finished
from tfnmt.corpus.tasks import Task
from tfnmt.data.lines import matching_files
from tfnmt.data.progress import log_counts
from tfnmt.errors import UserError
from tfnmt.ray_start import ray_started
from tfnmt.signals import StopSignals


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
            results = finished(ray, task, folder.shards_to_do(), replicas, threads)
            for result in log_counts(results, str(output), "lines", lambda result: result.lines, folder.lines_to_do()):
                folder.write(result)
                lines += result.lines
    return lines


def find_inputs(patterns: Sequence[str], output: str | Path) -> list[Path]:
    """The files that names or globs match, in order, each once.

    Raises:
        UserError: nothing matches one of them, two files have the same name, or the output would replace them.
    """
    found: dict[str, Path] = {}
    for pattern in patterns:
        for path in matching_files(pattern):
            other = found.setdefault(path.name, path)
            if other.resolve() != path.resolve():
                raise UserError(f"{other} and {path}: files of the same name would have the same output; rename one")
            if path.resolve().parent == Path(output).resolve():
                raise UserError(f"{path}: is in the output folder itself; name another --output")
    return list(found.values())
