"""Making a model's tokenizers from its training text."""

import itertools
from collections.abc import Iterator

from tfnmt.text.configuration import TextConfiguration
from tfnmt.text.tokenizers import SubwordTokenizer, Tokenizer, WordTokenizer


def make_tokenizers(
    configuration: TextConfiguration, source: Iterator[str], target: Iterator[str], seed: int
) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of both sides, one and the same for a joint vocabulary, learned from the lines of each."""
    if configuration.joint_vocabulary:
        tokenizer = _make(configuration, itertools.chain(source, target), seed)
        return tokenizer, tokenizer
    return _make(configuration, source, seed), _make(configuration, target, seed)


def _make(configuration: TextConfiguration, lines: Iterator[str], seed: int) -> Tokenizer:
    size, lowercase = configuration.vocabulary_size, configuration.lowercase
    if configuration.tokenizer == "words":
        return WordTokenizer.train(lines, size, lowercase, configuration.split_punctuation)
    return SubwordTokenizer.train(lines, size, configuration.tokenizer, lowercase, seed=seed)
