"""Examples of a classification task: one or two sentences, with or without parse trees, and their label."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

from tfnmt.errors import UserError
from tfnmt.text.brackets import brackets_as_words, from_brackets

Parsed = TypeVar("Parsed")


class Sentence(NamedTuple):
    """The words of a sentence, and the transitions of its parse tree if it is known."""

    words: list[str]
    transitions: list[int] | None = None


class Example(NamedTuple):
    """One or two sentences and their label."""

    sentences: tuple[Sentence, ...]
    label: int
    phrase_labels: list[int] | None = None
    """For a single sentence with a tree: the label of every node, -1 for none."""


class SkippedExampleError(Exception):
    """A line with no example to use, which is not an error of the file. The message is the reason in a few words."""


class SentenceReader(NamedTuple):
    """Reads sentences that are written as binary trees in brackets, such as `( ( A dog ) runs )`."""

    parses: bool = True
    """False: read the words only. Brackets are dropped without checking them, and there need not be any,
    but in SST, whose labels are on a tree."""
    broken_trees: Literal["error", "skip"] = "error"
    """Whether a tree that is broken or not binary is an error, or its example is skipped and counted."""
    brackets_as_words: bool = False
    """Read brackets as words, too; see `tfnmt.text.brackets.brackets_as_words`."""

    def read(self, text: str) -> Sentence:
        """The sentence, with its transitions if `parses`.

        Raises:
            UserError: the tree is broken, and that is an error.
            SkippedExampleError: there are no words, or the tree is broken and such examples are skipped.
        """
        words = split_words(text)
        if not words and not (self.parses and "(" in text):  # else it is a tree without words, which is broken
            raise SkippedExampleError("empty")
        words, transitions = self.parse(from_brackets, text) if self.parses else (words, None)
        if self.brackets_as_words:
            text = brackets_as_words(text)
            words, transitions = from_brackets(text) if self.parses else (split_words(text), None)
        return Sentence(words, transitions)

    def parse(self, parser: Callable[[str], Parsed], text: str) -> Parsed:
        """`parser(text)`. A `UserError` that it raises is handled as `broken_trees` says; see `read`."""
        try:
            return parser(text)
        except UserError as error:
            if self.broken_trees == "skip":
                raise SkippedExampleError("with a broken tree") from error
            advice = "--set broken_trees=skip (to evaluate: --broken-trees skip) leaves such examples out"
            if parser is from_brackets and "(" not in text:  # and not SST, whose labels are on a tree
                advice = "encoders without trees, such as gru, read sentences without brackets"
            raise UserError(f"{error}; {advice}") from error


def split_words(text: str) -> list[str]:
    """The words of a text. As for a `WordTokenizer`, ASCII white space separates them, and brackets are none."""
    return [word for word in re.split(r"[ \t-\r]", text) if word not in ("(", ")", "")]
