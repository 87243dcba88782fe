"""Translating any number of lines in constant memory."""

import itertools

from tfnmt.data.lines import batch_lines, decode_lines
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
    sentences = cut_long(searcher.reader, decode_lines(lines, "standard input"), "standard input")
    pairs = zip(sentences, itertools.repeat(None)) if prefixes is None else _paired(sentences, prefixes)
    for window in batch_lines(pairs, WINDOW * batch_size):
        texts, beginnings = map(list, zip(*window, strict=True))
        yield from searcher.translate(texts, batch_size, None if prefixes is None else beginnings)


def _paired(sentences, prefixes):
    """Each sentence with its prefix; `UserError` at the first one without the other."""
    for number, (sentence, prefix) in enumerate(itertools.zip_longest(sentences, prefixes), start=1):
        if sentence is None or prefix is None:
            missing, there = ("prefix", "sentence") if prefix is None else ("sentence", "prefix")
            raise UserError(f"line {number:,}: there is a {there} and no {missing}; give one for each line")
        yield sentence, prefix
