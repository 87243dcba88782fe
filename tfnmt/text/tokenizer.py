"""The base class of both kinds of tokenizer, with their special ids, and what they share."""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf
import tensorflow_text as tf_text

from tfnmt.configuration import require
from tfnmt.files import digest

PADDING, UNKNOWN, START, END = 0, 1, 2, 3
SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")


class Tokenizer(tf.Module):
    """Between text and the ids of tokens, which are subwords or words. Subclasses: `SubwordTokenizer`, `WordTokenizer`.

    Everything runs inside the graph. A SavedModel includes the tokenizer, since it is a `tf.Module`.
    """

    kind: str
    """The name of the class in its configuration and in NAME.json."""
    extension: str
    """Of the file beside NAME.json that holds the vocabulary."""
    vocabulary_size: int
    """Number of ids, including the four special ones."""

    def encode(self, text: tf.Tensor) -> tf.RaggedTensor:
        """string [batch] -> ragged int32 [batch, (length)], without START and END."""
        raise NotImplementedError

    def surface_forms(self, text: tf.Tensor) -> tf.RaggedTensor:
        """string [batch] -> ragged string [batch, (length)]: the text of each id that `encode` gives."""
        raise NotImplementedError

    def decode(self, ids: tf.Tensor | tf.RaggedTensor, unknown_tokens: tf.Tensor | None = None) -> tf.Tensor:
        """Ids up to the first END as text; PADDING and START are ignored.

        Args:
            ids: integers [batch, length], dense or ragged.
            unknown_tokens: string [batch, length], the text for UNKNOWN at each position of dense ids; None for
                "<unk>" everywhere.

        Returns:
            string [batch].
        """
        raise NotImplementedError

    def begins_word(self, ids: tf.Tensor) -> tf.Tensor:
        """Whether each token begins a word: integers of any shape -> bool, same shape."""
        raise NotImplementedError

    def ids_to_tokens(self, ids: tf.Tensor) -> tf.Tensor:
        """The token of each id: integers of any shape -> string, same shape."""
        raise NotImplementedError

    def options(self) -> dict:
        """Everything that makes this tokenizer except its vocabulary: keyword arguments of the class."""
        raise NotImplementedError

    def asset(self) -> bytes:
        """The vocabulary, as the content of its file."""
        raise NotImplementedError

    @classmethod
    def from_asset(cls, asset: bytes, options: dict) -> "Tokenizer":
        """The tokenizer with this `asset()` and these `options()`."""
        raise NotImplementedError

    def files(self, name: str) -> dict[str, bytes]:
        """Name -> content of the files that `load_tokenizer` reads: the vocabulary, and NAME.json.

        NAME.json comes last and has the size of the vocabulary, so that incomplete files are detected.
        """
        description = {"kind": self.kind, "vocabulary_size": self.vocabulary_size, "options": self.options()}
        return {
            name + self.extension: self.asset(),
            name + ".json": (json.dumps(description, indent=2) + "\n").encode(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """For `copy` and `pickle`, which could not take its tables."""
        return type(self).from_config, (self.get_config(),)

    def digest(self) -> str:
        """The digest of vocabulary and options, 256 bits in hexadecimal, by which another tokenizer is known."""
        return digest(b"".join(self.files("").values())).hexdigest()


def normalize(text: tf.Tensor, lowercase: bool) -> tf.Tensor:
    """Unicode form NFC ("e" + accent becomes "é"), optionally lowercased ("ß" stays); string, same shape."""
    text = tf_text.normalize_utf8(text, "NFC")
    return _lower(text) if lowercase else text


def _lower(text):
    """Lowercased alike everywhere, where `tf.strings.lower` follows the process's locale and ends at a NUL.

    In Turkish, Azeri and Lithuanian the lowercase of these letters is another, and so they come first.
    """
    text = tf.strings.lower(text)  # A to Z, in no locale
    for upper, lower in ("İ", "i\u0307"), ("Ì", "ì"), ("Í", "í"), ("Ĩ", "ĩ"), ("Į", "į"), (r"\x00", "\ufffd"):
        text = tf.strings.regex_replace(text, upper, lower)
    return tf.strings.lower(text, encoding="utf-8")


def normalized_chunks(lines: Iterable[str], lowercase: bool) -> Iterator[tf.Tensor]:
    """Streams `lines` through `normalize`, as string tensors of some thousand lines.

    Raises:
        UserError: one string in place of several.
    """
    require(not isinstance(lines, str), "lines", lines, "several strings, such as a list of them")
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, 4096)):
        yield normalize(tf.constant(chunk), lowercase)


def replace_invalid_ids(ids: tf.Tensor, vocabulary_size: int) -> tf.Tensor:
    """`ids` as int32, with UNKNOWN for those outside the vocabulary, on which SentencePiece would end the process."""
    ids = tf.cast(ids, tf.int32)
    return tf.where((ids >= 0) & (ids < vocabulary_size), ids, UNKNOWN)


def remove_special_ids(ids: tf.Tensor | tf.RaggedTensor, vocabulary_size: int) -> tf.RaggedTensor:
    """The ids of the text alone: those before the first END, without PADDING and START.

    Args:
        ids: any integer type, [batch, length], dense or ragged.
        vocabulary_size: ids outside the vocabulary are replaced by UNKNOWN.

    Returns:
        Ragged int32 [batch, (length)].
    """
    if isinstance(ids, tf.RaggedTensor):
        ids = ids.to_tensor(default_value=PADDING)
    ids = replace_invalid_ids(ids, vocabulary_size)
    return tf.ragged.boolean_mask(ids, _is_text(ids))


def tokens_of_text(tokenizer: Tokenizer, ids: tf.Tensor, unknown_tokens: tf.Tensor) -> tf.RaggedTensor:
    """The tokens of the text alone, as for `remove_special_ids`, with those given in place of UNKNOWN.

    Args:
        tokenizer: of the ids.
        ids: integers [batch, length].
        unknown_tokens: string [batch, length].

    Returns:
        Ragged string [batch, (length)].
    """
    ids = replace_invalid_ids(ids, tokenizer.vocabulary_size)
    tokens = tf.where(ids == UNKNOWN, unknown_tokens, tokenizer.ids_to_tokens(ids))
    return tf.ragged.boolean_mask(tokens, _is_text(ids))


def _is_text(ids):
    before_end = tf.cumsum(tf.cast(ids == END, tf.int32), axis=1) == 0
    return before_end & (ids != PADDING) & (ids != START)
