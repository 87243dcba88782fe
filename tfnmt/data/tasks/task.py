"""What every classification task has in common."""

import contextlib
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from tfnmt.data.examples import Example, SentenceReader, SkippedExampleError
from tfnmt.errors import UserError
from tfnmt.text.brackets import to_brackets

LineReader = Callable[[str, SentenceReader], Example]

TRAIN_SIZE, DEV_SIZE = 6000, 500
"""Examples of a sample corpus."""
MOST_REPEATED = 10_000
"""Lines that were there already, one after the other, after which no new one is expected."""


class Task(ABC):
    """What is classified, into which labels, and how its files are read.

    A subclass sets the attributes and overrides `read_line`; `file_format` too, where the format of a line depends on
    the file; and `draw_line`, if there is a sample corpus.
    """

    name: str
    """What the configuration and the command line call it."""
    title: str
    """What it is, in a few words."""
    labels: tuple[str, ...]
    """The name of each label; its id is its index."""
    sentences: int = 1
    """Sentences in an example: 1 or 2."""
    phrase_labels: bool = False
    """Whether every phrase of a tree has a label, not only the whole sentence."""
    sample_suffix: str = ".tsv"
    """Of the files of the sample corpus."""

    @abstractmethod
    def read_line(self, line: str, reader: SentenceReader) -> Example:
        """The example on a line of a file.

        Raises:
            UserError: the line is wrong; the caller adds file and line number.
            SkippedExampleError: it has no example to use.
        """

    def file_format(self, path: Path, first_line: str) -> tuple[LineReader, bool]:
        """What reads the lines of this file, called as `read_line` is, and whether its first line is a header."""
        return self.read_line, False

    def label_id(self, label: str) -> int:
        """The id of a label in a file.

        Raises:
            UserError: the task has no such label.
        """
        if label not in self.labels:
            raise UserError(f"the label is {label!r}; it must be one of {' '.join(self.labels)}")
        return self.labels.index(label)

    def draw_line(self, rng: random.Random) -> str:
        """A random line of the sample corpus.

        Raises:
            UserError: the task has no sample corpus.
        """
        raise UserError(f"task={self.name}: there is no sample corpus for it; name files of your own")

    def sample_texts(self, count: int, seed: int = 0) -> list[str]:
        """So many sentences of the sample corpus, in binary brackets; of pairs, the first ones.

        Raises:
            UserError: the task has no sample corpus.
        """
        rng, reader, texts = random.Random(f"{self.name} {seed}"), SentenceReader(), []
        while len(texts) < count:
            line = self.draw_line(rng)
            read, _ = self.file_format(Path(f"sample{self.sample_suffix}"), line)
            with contextlib.suppress(SkippedExampleError):
                sentence, *_ = read(line, reader).sentences
                texts.append(to_brackets(sentence.words, sentence.transitions or []))
        return texts

    def write_sample(self, directory: str | Path, seed: int = 0) -> dict[str, Path]:
        """Writes a small corpus in the format of the task's own files, which a tree model learns within a minute.

        No example occurs twice, neither within a file nor in both. The dev file has those that were drawn last: fewer
        of the kinds of which there are few examples, since most of these are in the training file by then.

        Returns:
            The files: {"train": path, "dev": path}.

        Raises:
            UserError: the task has no sample corpus, or it draws too few different lines.
        """
        rng = random.Random(f"{self.name} {seed}")
        drawn: dict[str, None] = {}  # an ordered set
        repeated = 0
        while len(drawn) < TRAIN_SIZE + DEV_SIZE:
            line = self.draw_line(rng)
            repeated = repeated + 1 if line in drawn else 0
            if repeated == MOST_REPEATED:
                raise UserError(
                    f"task={self.name}: draw_line draws only {len(drawn):,} different lines; a sample has"
                    f" {TRAIN_SIZE + DEV_SIZE:,}"
                )
            drawn[line] = None
        lines = list(drawn)
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        paths = {}
        for split, split_lines in (("train", lines[:TRAIN_SIZE]), ("dev", lines[TRAIN_SIZE:])):
            paths[split] = directory / f"{self.name}-{split}{self.sample_suffix}"
            paths[split].write_text("".join(line + "\n" for line in split_lines), encoding="utf-8")
        return paths
