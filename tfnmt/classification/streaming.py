"""Parsing any number of lines in constant memory."""

from collections.abc import Iterable, Iterator, Sequence

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.prediction import check_text
from tfnmt.data.examples import split_words
from tfnmt.data.lines import batch_lines, decode_lines
from tfnmt.errors import errors_in
from tfnmt.text.unknown_tokens import UnknownTokens


def parse_stream(model: Classifier, lines: Iterable[bytes], batch_size: int) -> Iterator[str]:
    """Parse lines as they come; the tree of a line without words is an empty line.

    After the last of them, a warning is logged if there were words that the model does not know.

    Args:
        model: a `Classifier` that parses.
        lines: UTF-8, such as standard input opened for reading bytes.
        batch_size: lines parsed at once.

    Yields:
        The tree of each line in binary brackets, in order.

    Raises:
        UserError: the model does not parse, or a line is not UTF-8 or not what the model reads, see `check_text`;
            names the line. All lines before it are parsed first.
    """
    model.parse([])  # a model that does not parse says so before input is read
    unknown = UnknownTokens(model.tokenizer)
    for batch in batch_lines(_checked(model, decode_lines(lines, "standard input")), batch_size):
        yield from parse_lines(model, batch, batch_size)
        unknown.add([" ".join(split_words(line)) for line in batch])
    unknown.log()


def _checked(model, lines):
    """The lines, each checked if it has words."""
    for number, line in enumerate(lines, start=1):
        if split_words(line):
            with errors_in(f"standard input, line {number:,}"):
                check_text(model.configuration, line)
        yield line


def parse_lines(model: Classifier, lines: Sequence[str], batch_size: int) -> list[str]:
    """The tree of each line in binary brackets; of a line without words an empty text.

    Raises:
        UserError: the model does not parse.
    """
    has_words = [bool(split_words(line)) for line in lines]
    trees = iter(model.parse([line for line, words in zip(lines, has_words, strict=True) if words], batch_size))
    return [next(trees) if words else "" for words in has_words]
