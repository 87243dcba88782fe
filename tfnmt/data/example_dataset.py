"""A dataset of labelled examples in files: checked once, then read in any order.

A file has one example a line. It is not held in memory: `ExampleDataset` reads every file once to check it, keeps the
byte offset and the length of each example (16 bytes), and reads the line again when the example is needed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tfnmt.data.examples import Example, SentenceReader, SkippedExampleError
from tfnmt.data.lines import count_lines, decode_line
from tfnmt.data.progress import log_progress
from tfnmt.data.tasks.task import LineReader, Task
from tfnmt.errors import UserError


@dataclass
class DatasetSummary:
    """How many examples a dataset has and how many lines were skipped, and why; `str()` gives one line."""

    examples: int = 0
    skipped: Counter = field(default_factory=Counter)
    """Reason -> number of lines."""
    first_skipped: dict[str, str] = field(default_factory=dict)
    """Reason -> file and line of the first one."""

    def skip(self, reason: str, place: str) -> None:
        """Count a line that was skipped at a place, such as "dev.txt, line 3"."""
        self.skipped[reason] += 1
        self.first_skipped.setdefault(reason, place)

    def __str__(self) -> str:
        if not self.skipped:
            return f"all {self.examples:,} examples"
        reasons = ", ".join(
            f"{count:,} {reason} (first: {self.first_skipped[reason]})" for reason, count in self.skipped.items()
        )
        return f"{self.examples:,} of {self.examples + self.skipped.total():,} examples; skipped {reasons}"


class ExampleDataset:
    """The examples of one or several files, with indices from 0.

    Args:
        task: what the files hold.
        paths: one file or several.
        reader: how sentences are read.
        maximum_length: examples with a longer sentence, in words, are skipped.

    Attributes:
        summary: a `DatasetSummary`.
        word_counts: a `Counter` of all words.
        places: where each example is, [examples] of (its file's index, its byte offset), equal in all datasets of the
            same files, whatever examples they skip.
        lengths: int32 [examples], the number of words; of the longer sentence if there are two.

    Raises:
        UserError: a file is missing, not UTF-8 or not in the task's format, a tree is broken (see `SentenceReader`),
            or no example is left. Names file and line.
    """

    def __init__(
        self,
        task: Task,
        paths: str | Path | Iterable[str | Path],
        reader: SentenceReader = SentenceReader(),  # noqa: B008 (immutable)
        maximum_length: int | None = None,
    ):
        self.task = task
        self.paths = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        self.reader = reader
        self.summary = DatasetSummary()
        self.word_counts: Counter[str] = Counter()
        self._line_readers: list[LineReader] = []
        files, offsets, lengths = [], [], []
        for file, path in enumerate(self.paths):
            for offset, example in self._check(path, maximum_length):
                for sentence in example.sentences:
                    self.word_counts.update(sentence.words)
                files.append(file)
                offsets.append(offset)
                lengths.append(_length(example))
        self.places = np.empty(len(lengths), [("file", np.int32), ("offset", np.int64)])
        self.places["file"], self.places["offset"] = files, offsets
        self.lengths = np.array(lengths, np.int32)
        self.summary.examples = len(lengths)
        if not lengths:
            why = self.summary if self.summary.skipped else "no lines, or a header alone"
            raise UserError(f"{', '.join(map(str, self.paths))}: no examples to use: {why}")

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[Example]:
        return (example for (example,) in self.read([index] for index in range(len(self))))

    def read(self, batches: Iterable[Iterable[int]]) -> Iterator[list[Example]]:
        """The examples of each batch of indices, read from the files one batch at a time.

        Raises:
            UserError: a line cannot be read any more: the file has changed since it was checked.
        """
        with ExitStack() as stack:
            files = [stack.enter_context(_open(path)) for path in self.paths]

            def read_example(index: int) -> Example:
                file, offset = self.places[index]
                files[file].seek(offset)
                try:
                    return self._line_readers[file](_decode(files[file].readline()), self.reader)
                except (SkippedExampleError, ValueError, UserError) as error:
                    raise UserError(f"{self.paths[file]}: the file has changed while it was in use") from error

            for indices in batches:
                yield [read_example(index) for index in indices]

    def _check(self, path: Path, maximum_length: int | None) -> Iterator[tuple[int, Example]]:
        """Reads a whole file: every example that is not skipped, and the byte offset of its line."""
        offset, read_line = 0, None
        with _open(path) as file:
            lines = log_progress(file, f"{path}, reading", count_lines(path))
            for number, line in enumerate(lines, start=1):
                place = f"{path}, line {number}"
                try:
                    text = _decode(line)
                    if number == 1 and b"\r" in line.rstrip(b"\r") and not line.endswith(b"\n"):
                        raise UserError("the file has carriage returns and no line feed: end lines with line feeds")
                    if read_line is None:
                        read_line, has_header = self.task.file_format(path, text)
                        self._line_readers.append(read_line)
                    if number > 1 or not has_header:
                        example = read_line(text, self.reader)
                        if maximum_length is not None and _length(example) > maximum_length:
                            raise SkippedExampleError(f"longer than {maximum_length} words")
                        yield offset, example
                except SkippedExampleError as error:
                    self.summary.skip(str(error), place)
                except UserError as error:
                    raise UserError(f"{place}: {error}") from error
                offset += len(line)
        if read_line is None:
            raise UserError(f"{path}: the file is empty")


def _length(example: Example) -> int:
    return max(len(sentence.words) for sentence in example.sentences)


def _decode(line: bytes) -> str:
    try:
        return decode_line(line)
    except UserError as error:
        raise UserError(f"{error}: convert the file to UTF-8") from error


def _open(path: Path) -> BinaryIO:
    try:
        file = open(path, "rb")  # noqa: SIM115 (the caller closes it)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    if path.suffix in (".gz", ".zst") or not file.seekable():
        file.close()
        raise UserError(f"{path}: compressed, or no file on a disk: examples are read in any order, so unpack it first")
    return file
