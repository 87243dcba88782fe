"""The Stanford Sentiment Treebank: a tree a line, with a label from 0 to 4 on every phrase (Socher et al., 2013)."""

from collections.abc import Callable
from pathlib import Path

from tfnmt.data.examples import Example, LeftOutError, Reading, Sentence
from tfnmt.errors import UserError
from tfnmt.text.brackets import from_labelled_brackets

# What a label of the treebank is called in the task with so many classes; -1: not used.
_CLASSES = {5: (0, 1, 2, 3, 4), 2: (0, 0, -1, 1, 1)}


def sentiment_parser(
    labels: tuple[str, ...], path: Path, first_line: str, reading: Reading
) -> tuple[Callable[[str], Example], bool]:
    """What turns a line into an `Example`; there is never a header.

    For two classes, sentences that are neutral as a whole are left out and neutral phrases have no label.
    """
    classes = _CLASSES[len(labels)]

    def parse(line: str) -> Example:
        words, transitions, written = reading.checked(from_labelled_brackets, line)
        try:
            phrase_labels = [classes["01234".index(label)] for label in written]
        except ValueError as error:
            raise UserError("a label is none of 0, 1, 2, 3, 4") from error
        label = phrase_labels[-1]
        if label < 0:
            raise LeftOutError("neutral")
        if not reading.parses:
            return Example((Sentence(words),), label)
        return Example((Sentence(words, transitions),), label, phrase_labels)

    return parse, False
