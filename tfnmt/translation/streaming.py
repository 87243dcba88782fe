"""Translating or parsing any number of lines in constant memory."""

import itertools

from tfnmt.data.lines import BYTE_ORDER_MARK
from tfnmt.errors import UserError
from tfnmt.translation.long_sentences import cut_long

WINDOW = 50  # batches read ahead, so that sentences of like length can be put together


def translate_stream(searcher, lines, batch_size, prefixes=None):
    """Translate lines as they come; an empty line gives an empty translation.

    Args:
        searcher: a `Searcher`.
        lines: an iterable of bytes, UTF-8, such as standard input opened for reading bytes.
        batch_size: see `Searcher.translate`.
        prefixes: None, or an iterable of strings, what each translation is to begin with.

    Yields:
        What `Searcher.translate` gives for each line, in order.

    Raises:
        UserError: a line is not UTF-8, or there are not as many prefixes as lines; names the line. All lines before it
            are translated first.
    """
    problems = []
    sentences = cut_long(searcher.reader, _decoded(lines, problems), "standard input")
    pairs = zip(sentences, itertools.repeat(None)) if prefixes is None else _paired(sentences, prefixes, problems)
    while window := list(itertools.islice(pairs, WINDOW * batch_size)):
        texts, beginnings = map(list, zip(*window, strict=True))
        yield from searcher.translate(texts, batch_size, None if prefixes is None else beginnings)
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
            yield line.removesuffix(b"\n").replace(b"\r", b"").decode("utf-8").removeprefix(BYTE_ORDER_MARK)
        except UnicodeDecodeError as error:
            problems.append(UserError(f"standard input, line {number:,}: byte {error.start + 1} is not UTF-8"))
            return


def _paired(sentences, prefixes, problems):
    """Each sentence with its prefix, as long as there are both; one without the other goes to `problems`."""
    for number, (sentence, prefix) in enumerate(itertools.zip_longest(sentences, prefixes), start=1):
        if sentence is None or prefix is None:
            missing, there = ("prefix", "sentence") if prefix is None else ("sentence", "prefix")
            problems.append(UserError(f"line {number:,}: there is a {there} and no {missing}; give one for each line"))
            return
        yield sentence, prefix
