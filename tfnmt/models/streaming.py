"""Translating any number of lines in constant memory."""

import itertools
import sys

from tfnmt.errors import UserError

WINDOW = 50  # batches read ahead, so that sentences of like length can be put together


def translate_stream(model, lines, beam_size, batch_size):
    """Translate lines as they come; an empty line gives an empty translation.

    Args:
        model: a `Translator`.
        lines: an iterable of bytes, UTF-8, such as a file opened for reading bytes.
        beam_size, batch_size: see `Translator.translate`.

    Yields:
        A string for each line, in order.

    Raises:
        UserError: a line is not UTF-8; names it. All lines before it are translated first.
    """
    numbered = enumerate(lines, start=1)
    while window := list(itertools.islice(numbered, WINDOW * batch_size)):
        texts = []
        problem = None
        for number, line in window:
            try:
                texts.append(line.rstrip(b"\r\n").decode("utf-8"))
            except UnicodeDecodeError as error:
                problem = UserError(f"standard input, line {number}: byte {error.start + 1} is not UTF-8")
                break
        _warn_of_long(model, texts, window[0][0])
        yield from model.translate(texts, beam_size, batch_size)
        if problem:
            raise problem


def _warn_of_long(model, texts, first_number):
    limit = model.configuration.maximum_source_length
    for number, text in enumerate(texts, start=first_number):
        if len(text) > limit and int(model.source_tokenizer.encode([text]).row_lengths()[0]) > limit:
            message = f"standard input, line {number}: only its first {limit} tokens are translated"
            print(message, file=sys.stderr)
