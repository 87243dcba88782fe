"""Parsing any number of lines in constant memory."""

from collections.abc import Iterable, Iterator

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.prediction import split_words
from tfnmt.data.lines import batch_lines, decode_lines


def parse_stream(model: Classifier, lines: Iterable[bytes], batch_size: int) -> Iterator[str]:
    """Parse lines as they come; the tree of a line without words is an empty line.

    Args:
        model: a `Classifier` that parses.
        lines: UTF-8, such as standard input opened for reading bytes.
        batch_size: lines parsed at once.

    Yields:
        The tree of each line in binary brackets, in order.

    Raises:
        UserError: the model does not parse, or a line is not UTF-8; names it. All lines before it are parsed first.
    """
    model.parse([])  # a model that does not parse says so before input is read
    for batch in batch_lines(decode_lines(lines, "standard input"), batch_size):
        has_words = [bool(split_words(line)) for line in batch]
        trees = iter(model.parse([line for line, words in zip(batch, has_words, strict=True) if words], batch_size))
        yield from (next(trees) if words else "" for words in has_words)
