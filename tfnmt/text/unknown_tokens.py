"""Which tokens of a text a model does not know: all of them are one and the same to it."""

import logging
from collections.abc import Sequence

import tensorflow as tf

from tfnmt.text.tokenizers import UNKNOWN, Tokenizer

logger = logging.getLogger(__name__)

EXAMPLES = 5
LONGEST_EXAMPLE = 30


def log_unknown(tokenizer: Tokenizer, texts: Sequence[str]) -> None:
    """A warning, if there are tokens in the texts that a model does not know."""
    unknown = UnknownTokens(tokenizer)
    unknown.add(texts)
    unknown.log()


class UnknownTokens:
    """Counts those of the texts that it is given.

    Args:
        tokenizer: of what the model reads.
    """

    def __init__(self, tokenizer: Tokenizer):
        self._tokenizer = tokenizer
        self._tokens = self._unknown = 0
        self._examples: dict[str, None] = {}

    def add(self, texts: Sequence[str]) -> None:
        """Count those of texts."""
        text = tf.constant(list(texts), tf.string)
        is_unknown = self._tokenizer.encode(text).flat_values == UNKNOWN
        self._tokens += int(tf.size(is_unknown))
        unknown = int(tf.math.count_nonzero(is_unknown))
        self._unknown += unknown
        if unknown and len(self._examples) < EXAMPLES:
            written = tf.boolean_mask(self._tokenizer.surface_forms(text).flat_values, is_unknown)
            found = dict.fromkeys(map(_printable, written.numpy()))
            self._examples = dict(list((self._examples | found).items())[:EXAMPLES])

    def log(self) -> None:
        """A warning, if there are any."""
        if self._unknown:
            logger.warning(
                "not in the model's vocabulary, so read as <unk>: %s of %s tokens, such as %s",
                f"{self._unknown:,}",
                f"{self._tokens:,}",
                " ".join(self._examples),
            )


def _printable(token):
    """The beginning of a token, without characters that a terminal obeys."""
    text = token.decode(errors="replace")[:LONGEST_EXAMPLE]
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
