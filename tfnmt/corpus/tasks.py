"""What a task does with the lines of a shard, whichever it is: a line that it cannot do is reported and left empty."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import tensorflow as tf

from tfnmt.configuration import Configuration
from tfnmt.corpus.shards import Result, Shard
from tfnmt.data.lines import decode_line
from tfnmt.errors import UserError


class Task(Configuration, ABC):
    """What is done with each line of a corpus, by which model: what every process is told."""

    @property
    @abstractmethod
    def files(self) -> tuple[str, ...]:
        """The files whose content decides what is written: those of models, and a shortlist."""

    @property
    @abstractmethod
    def shard_lines(self) -> int:
        """Lines of a shard. Those of similar length are worked on together."""

    @abstractmethod
    def load(self) -> "Work":
        """Load the model.

        Raises:
            UserError: it cannot be loaded, or does not do what is asked of it.
        """


class Work(ABC):
    """A task with its model loaded."""

    @abstractmethod
    def read(self, line: str) -> tuple[str, str | None]:
        """What is worked on of a line, and what is wrong with it or None.

        Raises:
            UserError: it cannot be worked on; it counts as an empty line then.
        """

    @abstractmethod
    def write(self, texts: Sequence[str], first: int) -> list[str]:
        """The lines of output, without their ends, for what `read` gave of lines; `first` lines come before them."""

    def do(self, shard: Shard) -> Result:
        """What is written for a shard, and its problems."""
        texts, problems = [], {}
        for i, line in enumerate(shard.lines):
            text, problems[i] = self._read(line)
            texts.append(text)

        def write(begin: int, end: int) -> list[str]:
            try:
                return self.write(texts[begin:end], shard.first + begin)
            except tf.errors.ResourceExhaustedError:  # in halves, until what does not fit is one line
                if end - begin > 1:
                    middle = (begin + end) // 2
                    return write(begin, middle) + write(middle, end)
                if not texts[begin]:
                    raise
                texts[begin], problems[begin] = "", "does not fit in the memory"
                return write(begin, end)

        text = "".join(line + "\n" for line in write(0, len(texts)))
        found = [f"line {shard.first + i + 1}: {problem}" for i, problem in problems.items() if problem]
        return Result(shard.file, shard.number, len(texts), text.encode(), found)

    def _read(self, line):
        try:
            return self.read(decode_line(line))
        except UserError as error:
            return "", f"{error}; its output is empty"


def by_length(function: Callable[[list[str]], list[str]], texts: Sequence[str]) -> list[str]:
    """What a function gives for texts in the order of their length, in the order of the texts."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    results = [""] * len(texts)
    for i, result in zip(order, function([texts[i] for i in order]), strict=True):
        results[i] = result
    return results
