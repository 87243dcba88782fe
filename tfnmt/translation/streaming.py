"""Translating any number of lines in constant memory."""

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tfnmt.data.lines import batch_lines, decode_lines
from tfnmt.errors import UserError
from tfnmt.text.framing import LONGEST_TOKEN
from tfnmt.text.tokenizers import Tokenizer
from tfnmt.text.unknown_tokens import UnknownTokens
from tfnmt.translation.postprocessing import Translations
from tfnmt.translation.searcher import Searcher

logger = logging.getLogger(__name__)

WINDOW = 50
"""Batches read ahead, so that sentences of similar length can be translated, or scored, together."""


def translate_stream(
    searcher: Searcher,
    lines: Iterable[bytes],
    batch_size: int,
    prefixes: Iterable[str] | None = None,
    advance: Callable[[int], None] | None = None,
) -> Iterator[Translations]:
    """Translate lines as they come; the translation of an empty line is empty.

    Args:
        searcher: a `Searcher`.
        lines: UTF-8, such as standard input opened for reading bytes.
        batch_size: see `Searcher.translate`.
        prefixes: what each translation is to begin with, or None.
        advance: called after each batch with the number of its lines.

    Yields:
        What `Searcher.translate` gives for each line, in order.

    Raises:
        UserError: a line is not UTF-8, or there are not as many prefixes as lines; names the line. All lines before it
            are translated first.
    """
    for texts, window_prefixes in windows(searcher, lines, batch_size, prefixes):
        yield from searcher.translate(texts, batch_size, window_prefixes, advance)


def windows(
    searcher: Searcher,
    lines: Iterable[bytes],
    batch_size: int,
    prefixes: Iterable[str] | None = None,
    batches: int = WINDOW,
) -> Iterator[tuple[list[str], list[str] | None]]:
    """The texts of so many batches, and their prefixes or None; arguments and errors as for `translate_stream`.

    After the last of them, a warning is logged if there were tokens that the model does not know.
    """
    tokenizer, maximum_length = searcher.ensemble.source_tokenizer, searcher.ensemble.maximum_source_length
    sentences = truncate_long(decode_lines(lines, "standard input"), tokenizer, maximum_length, "standard input")
    pairs = zip(sentences, itertools.repeat(None)) if prefixes is None else _with_prefixes(sentences, prefixes)
    unknown = UnknownTokens(tokenizer)
    for window in batch_lines(pairs, batches * batch_size):
        texts, window_prefixes = map(list, zip(*window, strict=True))
        yield texts, None if prefixes is None else window_prefixes
        unknown.add(texts)
    unknown.log()


def truncate_long(
    sentences: Iterable[str], tokenizer: Tokenizer, maximum_length: int, file: str | Path
) -> Iterator[str]:
    """Sentences without the characters that `tfnmt.text.framing.truncate` leaves out.

    Args:
        sentences: an iterable of strings.
        tokenizer: counts the tokens.
        maximum_length: tokens that a translator reads; a warning is logged for each longer sentence.
        file: where the sentences come from, for the warnings.
    """
    for line, sentence in enumerate(sentences, start=1):
        sentence, is_too_long = truncated(sentence, tokenizer, maximum_length)
        if is_too_long:
            place = f"{file}, line {line:,}"
            logger.warning("%s: too long, only its first %d tokens are read", place, maximum_length)
        yield sentence


def truncated(sentence: str, tokenizer: Tokenizer, maximum_length: int) -> tuple[str, bool]:
    """A sentence without what `tfnmt.text.framing.truncate` leaves out, and whether it has more than so many tokens."""
    if len(sentence) < maximum_length and sentence.isascii():  # others can be more tokens than characters, in NFC
        return sentence, False
    text = sentence[: LONGEST_TOKEN * maximum_length]
    tokens = int(tokenizer.encode([text]).row_lengths()[0])
    return text, tokens > maximum_length or text != sentence


def _with_prefixes(sentences, prefixes):
    """Each sentence with its prefix; `UserError` at the first one without the other."""
    for number, (sentence, prefix) in enumerate(itertools.zip_longest(sentences, prefixes), start=1):
        if sentence is None or prefix is None:
            missing, present = ("prefix", "sentence") if prefix is None else ("sentence", "prefix")
            place = f"standard input and prefixes, line {number:,}"
            raise UserError(f"{place}: there is a {present} and no {missing}; give one for each line")
        yield sentence, prefix
