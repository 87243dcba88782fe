"""The tasks that sentences are classified in: each one's labels, and how its files are read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tfnmt.data.examples import Example, Reading
from tfnmt.data.listops import listops_parser
from tfnmt.data.sentence_pairs import pair_parser
from tfnmt.data.sentiment import sentiment_parser


@dataclass(frozen=True)
class Task:
    """What is said of what."""

    name: str
    title: str
    labels: tuple[str, ...]
    """The name of each label, whose id is its place here."""
    sentences: int
    """In an example: 1 or 2."""
    phrase_labels: bool
    """Whether every phrase of a tree has a label, not only the whole."""
    make_parser: Callable

    def parser(self, path: Path, first_line: str, reading: Reading) -> tuple[Callable[[str], Example], bool]:
        """What turns a line of a file into an `Example` (or raises `UserError`, or `LeftOutError`), and whether the
        first line is a header."""
        return self.make_parser(self.labels, path, first_line, reading)


_ENTAILMENT = ("entailment", "neutral", "contradiction")
_SENTIMENT = ("very negative", "negative", "neutral", "positive", "very positive")
_TASKS = (
    Task("snli", "SNLI or MultiNLI: entailment between sentences", _ENTAILMENT, 2, False, pair_parser),
    Task(
        "sick",
        "SICK: entailment between sentences",
        tuple(label.upper() for label in _ENTAILMENT),
        2,
        False,
        pair_parser,
    ),
    Task("logic", "relations between formulas of propositional logic", tuple("=<>^|v#"), 2, False, pair_parser),
    Task("sst", "Stanford Sentiment Treebank, five classes", _SENTIMENT, 1, True, sentiment_parser),
    Task("sst2", "Stanford Sentiment Treebank, two classes", ("negative", "positive"), 1, True, sentiment_parser),
    Task("listops", "ListOps: the value of nested lists", tuple("0123456789"), 1, False, listops_parser),
)
TASKS = {task.name: task for task in _TASKS}
"""Name -> task."""
