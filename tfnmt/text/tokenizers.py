"""Both kinds of tokenizer: training, saving and loading them."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

from tfnmt.errors import UserError, errors_in
from tfnmt.text.subword import SubwordTokenizer
from tfnmt.text.subword_training import VocabularyTooLargeError
from tfnmt.text.tokenizer import END, PADDING, START, UNKNOWN, Tokenizer
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.words import WordTokenizer

__all__ = [
    "END",
    "PADDING",
    "START",
    "UNKNOWN",
    "SubwordTokenizer",
    "Tokenizer",
    "WordTokenizer",
    "load_tokenizer",
    "make_tokenizers",
    "tokenizer_from_config",
]

_KINDS = {tokenizer.kind: tokenizer for tokenizer in (SubwordTokenizer, WordTokenizer)}


def make_tokenizers(
    configuration: TextConfiguration,
    source: Iterator[str],
    target: Iterator[str],
    seed: int,
    names: tuple[str, str] = ("source", "target"),
) -> tuple[Tokenizer, Tokenizer]:
    """The source and the target tokenizer, trained on lines of text; the same one twice for a joint vocabulary.

    Args:
        configuration: of both.
        source, target: the lines.
        seed: of what is drawn of a large text.
        names: of both texts, for errors.

    Raises:
        UserError: see `SubwordTokenizer.train`. Where two vocabularies are too large, it tells of the text with fewer
            subwords, whose number is possible for both.
    """
    if configuration.joint_vocabulary:
        with errors_in(" and ".join(names)):
            tokenizer = _make(configuration, itertools.chain(source, target), seed)
        return tokenizer, tokenizer
    made, too_large = [], []
    for name, lines in zip(names, (source, target), strict=True):
        with errors_in(name):
            try:
                made.append(_make(configuration, lines, seed))
            except VocabularyTooLargeError as error:
                too_large.append((error.largest, f"{name}: {error}"))
    if too_large:
        raise UserError(min(too_large)[1])
    return made[0], made[1]


def _make(configuration: TextConfiguration, lines: Iterator[str], seed: int) -> Tokenizer:
    size, lowercase = configuration.vocabulary_size, configuration.lowercase
    if configuration.tokenizer == "words":
        return WordTokenizer.train(lines, size, lowercase, configuration.split_punctuation)
    return SubwordTokenizer.train(
        lines, size, configuration.tokenizer, lowercase, configuration.character_coverage, seed
    )


def tokenizer_from_config(config: dict) -> Tokenizer:
    """The tokenizer, of either kind, with this `get_config()`."""
    return _KINDS[config["kind"]].from_config(config)


def load_tokenizer(directory: str | Path, name: str) -> Tokenizer:
    """The tokenizer, of either kind, whose `files(name)` are in a directory.

    Raises:
        UserError: a file is missing, broken or cut short; names it.
    """
    path = Path(directory, name + ".json")
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        kind, options, size = (
            _KINDS[description["kind"]],
            description["options"],
            description["vocabulary_size"],
        )
        path = path.with_name(name + kind.extension)
        tokenizer = kind.from_asset(path.read_bytes(), options)
    except OSError as error:
        raise UserError(f"{path}: cannot read this part of a tokenizer: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError, UserError) as error:
        raise UserError(f"{path}: this part of a tokenizer is broken: {error}") from error
    if tokenizer.vocabulary_size != size:
        raise UserError(
            f"{path}: holds {tokenizer.vocabulary_size} tokens, but {name}.json says {size}: is it incomplete?"
        )
    return tokenizer
