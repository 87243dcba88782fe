"""Labelled sentences and pairs of sentences with their trees, in files: checked once, then read in any order.

A file has one example a line. It is never held in memory: `ExampleFiles` reads it once, keeps of each example where
it begins and how long it is (16 bytes), and reads it again when it is wanted.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfnmt.data.lines import BYTE_ORDER_MARK
from tfnmt.errors import UserError
from tfnmt.text.brackets import from_brackets


class Sentence(NamedTuple):
    """Words, and the transitions of their tree if it is known."""

    words: list[str]
    transitions: list[int] | None = None


class Example(NamedTuple):
    """One sentence or two and what is to be said of them."""

    sentences: tuple[Sentence, ...]
    label: int
    phrase_labels: list[int] | None = None
    """Of a single sentence with a tree: a label for each node, -1 for none."""


class LeftOutError(Exception):
    """A line that holds no example to learn from, through nobody's fault. The message says why in a few words."""


class Reading(NamedTuple):
    """How much of an example is wanted."""

    parses: bool = True
    """False: words alone, without trees. Brackets are dropped unread; there need not be any."""
    broken_trees: str = "error"
    """What a tree that is broken or not binary is: "error", or "skip" to leave the example out and count it."""

    def sentence(self, text: str) -> Sentence:
        """Of words in binary brackets."""
        if not self.parses:
            words = [word for word in text.split(" ") if word not in ("(", ")", "")]
            if not words:
                raise LeftOutError("empty")
            return Sentence(words)
        return Sentence(*self.checked(from_brackets, text))

    def checked(self, parse: Callable, text: str):
        """`parse(text)`, where its `UserError` is what `broken_trees` says."""
        try:
            return parse(text)
        except UserError as error:
            if self.broken_trees == "skip":
                raise LeftOutError("with a broken tree") from error
            raise UserError(f"{error}; broken_trees=skip leaves such examples out") from error


@dataclass
class Survey:
    """How many examples there are and what was left out; `str()` says so in one line."""

    kept: int = 0
    left_out: Counter = field(default_factory=Counter)
    """Reason -> how many."""
    first_places: dict[str, str] = field(default_factory=dict)
    """Reason -> the file and line where it was met first."""

    def leave_out(self, reason: str, place: str) -> None:
        self.left_out[reason] += 1
        self.first_places.setdefault(reason, place)

    def __str__(self) -> str:
        if not self.left_out:
            return f"kept all {self.kept:,} examples"
        reasons = ", ".join(
            f"{count:,} {reason} (first: {self.first_places[reason]})" for reason, count in self.left_out.items()
        )
        return f"kept {self.kept:,} of {self.kept + self.left_out.total():,} examples; left out {reasons}"


class ExampleFiles:
    """The examples of files, by number from 0.

    Args:
        task: a `tfnmt.data.tasks.Task`, or whatever else has its `parser(path, first_line)`.
        paths: one file or several.
        reading: how much is wanted.
        maximum_length: examples with a sentence of more words are left out.

    Raises:
        UserError: a file is missing, not UTF-8 or not in the task's format, a tree is broken (see `Reading`), or no
            example is left. Names file and line.
    """

    def __init__(
        self,
        task,
        paths: str | Path | Iterable[str | Path],
        reading: Reading = Reading(),  # noqa: B008 (it cannot change)
        maximum_length: int | None = None,
    ):
        self.task = task
        self.paths = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        self.reading = reading
        self.survey = Survey()
        self.word_counts = Counter()
        """How often each word stands in the examples."""
        self._parsers = []
        files, offsets, lengths = [], [], []
        for file, path in enumerate(self.paths):
            for offset, example in self._first_reading(path, maximum_length):
                for sentence in example.sentences:
                    self.word_counts.update(sentence.words)
                files.append(file)
                offsets.append(offset)
                lengths.append(_length(example))
        self._files, self._offsets = np.array(files, np.int32), np.array(offsets, np.int64)
        self.lengths = np.array(lengths, np.int32)
        """[examples]: the words of each, of its longer sentence if it has two."""
        self.survey.kept = len(lengths)
        if not lengths:
            raise UserError(f"{', '.join(map(str, self.paths))}: no example is left: {self.survey}")

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[Example]:
        return (example for (example,) in self.read([number] for number in range(len(self))))

    def read(self, groups: Iterable[Iterable[int]]) -> Iterator[list[Example]]:
        """The examples of each group of numbers, read when they are asked for."""
        with ExitStack() as stack:
            files = [stack.enter_context(_open(path)) for path in self.paths]

            def example(number: int) -> Example:
                file = self._files[number]
                files[file].seek(self._offsets[number])
                try:
                    return self._parsers[file](_text(files[file].readline()))
                except (LeftOutError, ValueError, UserError) as error:
                    raise UserError(f"{self.paths[file]}: the file has changed while it was in use") from error

            for group in groups:
                yield [example(number) for number in group]

    def _first_reading(self, path: Path, maximum_length: int | None) -> Iterator[tuple[int, Example]]:
        """Every example that is kept, and the byte where its line begins."""
        offset, parse = 0, None
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                place = f"{path}, line {number}"
                try:
                    text = _text(line)
                    if parse is None:
                        parse, is_header = self.task.parser(path, text, self.reading)
                        self._parsers.append(parse)
                    if number > 1 or not is_header:
                        example = parse(text)
                        if maximum_length is not None and _length(example) > maximum_length:
                            raise LeftOutError(f"longer than {maximum_length} words")
                        yield offset, example
                except LeftOutError as error:
                    self.survey.leave_out(str(error), place)
                except UnicodeDecodeError as error:
                    raise UserError(f"{place}: not UTF-8: convert the file to UTF-8") from error
                except UserError as error:
                    raise UserError(f"{place}: {error}") from error
                offset += len(line)
        if parse is None:
            raise UserError(f"{path}: the file is empty")


def _length(example: Example) -> int:
    return max(len(sentence.words) for sentence in example.sentences)


def _text(line: bytes) -> str:
    return line.decode("utf-8").rstrip("\r\n").removeprefix(BYTE_ORDER_MARK)


def _open(path: Path):
    try:
        file = open(path, "rb")  # noqa: SIM115 (the caller closes it)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    if path.suffix == ".gz" or not file.seekable():
        file.close()
        raise UserError(f"{path}: compressed, or no file on a disk: examples are read in any order, so unpack it first")
    return file
