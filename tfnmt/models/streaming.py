"""Translating or parsing any number of lines in constant memory."""

import itertools

from tfnmt.errors import UserError
from tfnmt.models.long_sentences import cut_long

WINDOW = 50  # batches read ahead, so that sentences of like length can be put together


def translate_stream(model, lines, beam_size, batch_size):
    """Translate lines as they come; an empty line gives an empty translation.

    Args:
        model: a `Translator`.
        lines: an iterable of bytes, UTF-8, such as standard input opened for reading bytes.
        beam_size, batch_size: see `Translator.translate`.

    Yields:
        A string for each line, in order.

    Raises:
        UserError: a line is not UTF-8; names it. All lines before it are translated first.
    """
    problems = []
    sentences = cut_long(model, _decoded(lines, problems), "standard input")
    while window := list(itertools.islice(sentences, WINDOW * batch_size)):
        yield from model.translate(window, beam_size, batch_size)
    if problems:
        raise problems[0]


def parse_stream(model, lines, batch_size):
    """Parse lines as they come; a line without words gives an empty one.

    Args:
        model: a `Classifier` that parses.
        lines: as in `translate_stream`.
        batch_size: see `Classifier.parse`.

    Yields:
        A string for each line, in order: the tree in binary brackets.

    Raises:
        UserError: the model does not parse, or a line is not UTF-8; names it. All lines before it are parsed first.
    """
    problems = []
    model.parse([])  # a model that cannot says so before it waits for input
    sentences = _decoded(lines, problems)
    while window := list(itertools.islice(sentences, batch_size)):
        trees = iter(model.parse([sentence for sentence in window if sentence.strip("() \t")], batch_size))
        yield from (next(trees) if sentence.strip("() \t") else "" for sentence in window)
    if problems:
        raise problems[0]


def _decoded(lines, problems):
    """Each line as a string without its end, up to the first that is not UTF-8, which goes to `problems`."""
    for number, line in enumerate(lines, start=1):
        try:
            yield line.removesuffix(b"\n").replace(b"\r", b"").decode("utf-8")
        except UnicodeDecodeError as error:
            problems.append(UserError(f"standard input, line {number:,}: byte {error.start + 1} is not UTF-8"))
            return
