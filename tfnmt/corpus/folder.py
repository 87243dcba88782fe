"""The output folder of a corpus: what is done stays done, whatever is killed.

corpus.json             the task, and the files that were read
NAME                    the output for the input file NAME, once it is whole
NAME.problems           what is wrong with some of its lines, if anything is
unfinished/NAME/7       the output for shard 7 of a file that is not whole yet, and 7.problems

Every file appears whole. When the last shard of a file is done, its shards are joined.
"""

import contextlib
import functools
import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from tfnmt.corpus.record import RECORD, CorpusRecord
from tfnmt.corpus.shards import Result, Shard, read_shards
from tfnmt.corpus.tasks import Task
from tfnmt.data.lines import count_lines, create_lines
from tfnmt.errors import UserError
from tfnmt.files import atomic_write, file_errors, write_file
from tfnmt.training.run_lock import lock_directory

logger = logging.getLogger(__name__)

UNFINISHED, PROBLEMS = "unfinished", ".problems"
_WAY_OUT = "what is done stays done: put that right, then give the same command again"


@contextlib.contextmanager
def open_folder(folder: str | Path, task: Task, inputs: Sequence[Path]) -> Iterator["CorpusFolder"]:
    """The output folder of a corpus, begun or continued; no other process writes there meanwhile.

    Raises:
        UserError: it cannot be made, belongs to another task, or has files of these names that are not of the corpus;
            or an input is named as the report on another one's problems.
    """
    folder = Path(folder)
    with lock_directory(folder):
        now = CorpusRecord.of(task, inputs)
        before = CorpusRecord.read(folder)
        record = now if before is None else before.continued(now, folder)
        _require_own_names(record.inputs)
        known = {} if before is None else before.inputs
        for path in inputs:
            _make_room(folder, path, known.get(path.name), now.inputs[path.name])
            if (folder / path.name).exists():  # a kill has come after it was joined
                _remove(folder / UNFINISHED / path.name)
        yield CorpusFolder(folder, inputs, task.shard_lines, record)


def _require_own_names(names):
    """Raise `UserError` if an output would be the report on the problems of another input file."""
    for name in names:
        if name + PROBLEMS in names:
            raise UserError(f"the output of {name}{PROBLEMS} would be the report on {name}; rename one")


def _make_room(folder, path, before, now):
    """Remove what was written for an input file that has changed since."""
    output = folder / path.name
    for file in (output, _problems(output)):
        if before is None and (file.exists() or file.name in (RECORD, UNFINISHED)):
            raise UserError(f"{file}: is there already, and not of this corpus: name another --output")
    if before not in (None, now):
        logger.info("%s: has changed since it was read: it is done again", path)
        with file_errors(output, _WAY_OUT):
            output.unlink(missing_ok=True)
            _problems(output).unlink(missing_ok=True)
        _remove(folder / UNFINISHED / path.name)


def _remove(shards):
    """Remove the shards of a file. What stays would count as done."""
    with file_errors(shards, _WAY_OUT), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(shards)
    with contextlib.suppress(OSError):  # others are still there
        shards.parent.rmdir()


class CorpusFolder:
    """The output folder of a corpus.

    Args:
        folder: the folder.
        inputs: the input files.
        shard_lines: lines of a shard.
        record: what corpus.json is to tell, from the first file on that is written.
    """

    def __init__(self, folder: Path, inputs: Sequence[Path], shard_lines: int, record: CorpusRecord):
        self.folder, self.shard_lines = folder, shard_lines
        self.unfinished = [path for path in inputs if not (folder / path.name).exists()]
        """Input files whose output is not whole."""
        self._shards: dict[str, int] = {}
        """How many shards a file has, once it has been read to the end."""
        self._save_record = functools.cache(lambda: record.save(folder))

    def lines_to_do(self) -> int | None:
        """How many lines are not done, roughly; None where there is a file that cannot be counted without unpacking."""
        counts = [count_lines(path) for path in self.unfinished]
        if None in counts:
            return None
        parts = (self.folder / UNFINISHED / path.name for path in self.unfinished)
        done = sum(part.suffix != PROBLEMS for folder in parts if folder.is_dir() for part in folder.iterdir())
        return max(0, sum(filter(None, counts)) - self.shard_lines * done)

    def shards_to_do(self) -> Iterator[Shard]:
        """The shards that are not done, read as they are asked for. Files without any are joined.

        Raises:
            UserError: a file cannot be read or is broken.
        """
        for path in list(self.unfinished):
            count = 0
            for shard in read_shards(path, self.shard_lines):
                count += 1
                if not self._part(path.name, shard.number).exists():
                    yield shard
            self._shards[path.name] = count
            self._join_when_done(path.name)

    def write(self, result: Result) -> None:
        """Keep what is written for a shard; if it was the last of its file, join them."""
        self._save_record()
        part = self._part(result.file, result.number)
        with file_errors(part, _WAY_OUT):
            part.parent.mkdir(parents=True, exist_ok=True)
        _write_problems(part, result.problems)
        write_file(part, result.text, _WAY_OUT)
        self._join_when_done(result.file)

    def _part(self, name, number):
        return self.folder / UNFINISHED / name / str(number)

    def _join_when_done(self, name):
        parts = [self._part(name, number) for number in range(self._shards.get(name, 0))]
        if name not in self._shards or not all(part.exists() for part in parts):
            return
        self._save_record()
        output = self.folder / name
        problems = [line for part in map(_problems, parts) if part.exists() for line in _lines(part)]
        _write_problems(output, problems)
        if problems:
            more = f" and {len(problems) - 1:,} more, all in {_problems(output)}" if len(problems) > 1 else ""
            logger.warning("%s, %s%s", output, problems[0], more)
        with atomic_write(output, _WAY_OUT) as file, create_lines(file) as joined:
            for part in parts:
                joined.write(part.read_bytes())
        _remove(self.folder / UNFINISHED / name)
        self.unfinished = [path for path in self.unfinished if path.name != name]


def _problems(path):
    return path.with_name(path.name + PROBLEMS)


def _write_problems(path, problems):
    with file_errors(_problems(path), _WAY_OUT):
        _problems(path).unlink(missing_ok=True)
    if problems:
        write_file(_problems(path), "".join(problem + "\n" for problem in problems), _WAY_OUT)


def _lines(path):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
