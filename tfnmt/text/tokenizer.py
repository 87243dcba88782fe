"""What both kinds of tokenizer share: special ids, making text uniform, picking the ids of text, saving."""

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import tensorflow as tf
import tensorflow_text as tf_text

PADDING, UNKNOWN, START, END = 0, 1, 2, 3
SPECIAL_WORDS = ("<pad>", "<unk>", "<s>", "</s>")


class Tokenizer(tf.Module):
    """What a tokenizer is to the rest of the project. Kinds: `SubwordTokenizer` and `WordTokenizer`.

    Everything runs inside the graph, and a SavedModel carries it, since it is a `tf.Module`.
    """

    kind: str
    """What its configuration and its file NAME.json call it."""
    extension: str
    """Of the file beside NAME.json that holds its vocabulary."""
    vocabulary_size: int
    """Number of ids, the four special ones among them."""

    def encode(self, text: tf.Tensor) -> tf.RaggedTensor:
        """string [batch] -> ragged int32 [batch, (length)], without START and END."""
        raise NotImplementedError

    def surfaces(self, text: tf.Tensor) -> tf.RaggedTensor:
        """string [batch] -> ragged string [batch, (length)]: what of the text each id of `encode` stands for."""
        raise NotImplementedError

    def decode(self, ids: tf.Tensor | tf.RaggedTensor, unknown: tf.Tensor | None = None) -> tf.Tensor:
        """Integers [batch, length], dense or ragged -> string [batch]: what stands before the first END.

        PADDING and START are passed over. UNKNOWN is written as "<unk>", or as `unknown`, string [batch, length] beside
        dense ids, says at its place.
        """
        raise NotImplementedError

    def begins_word(self, ids: tf.Tensor) -> tf.Tensor:
        """Whether each id begins a word and does not continue one: integers of any shape -> bool, same shape."""
        raise NotImplementedError

    def words(self, ids: tf.Tensor) -> tf.Tensor:
        """The piece or word that each id stands for: integers of any shape -> string, same shape."""
        raise NotImplementedError

    def options(self) -> dict:
        """All that makes this tokenizer, apart from its vocabulary: keyword arguments of the class."""
        raise NotImplementedError

    def asset(self) -> bytes:
        """The vocabulary as it stands in its file."""
        raise NotImplementedError

    @classmethod
    def from_asset(cls, asset: bytes, options: dict) -> "Tokenizer":
        """The tokenizer again, from what `asset()` and `options()` gave."""
        raise NotImplementedError

    def save(self, directory: str | Path, name: str) -> None:
        """Writes the vocabulary, then NAME.json; `load_tokenizer` reads them.

        NAME.json comes last and tells the vocabulary's size, so that files half written are noticed.
        """
        description = {"kind": self.kind, "vocabulary_size": self.vocabulary_size, "options": self.options()}
        Path(directory, name + self.extension).write_bytes(self.asset())
        Path(directory, name + ".json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")


def normalize(text: tf.Tensor, lowercase: bool) -> tf.Tensor:
    """Unicode form NFC ("e" + accent becomes "é"), lowercased if asked ("ß" stays); string, as `text`."""
    text = tf_text.normalize_utf8(text, "NFC")
    return tf.strings.lower(text, encoding="utf-8") if lowercase else text


def normalized_chunks(lines: Iterable[str], lowercase: bool, chunk_size: int = 4096) -> Iterator[tf.Tensor]:
    """Streams `lines` through `normalize`, as string tensors of at most `chunk_size` lines."""
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, chunk_size)):
        yield normalize(tf.constant(chunk), lowercase)


def known_ids(ids: tf.Tensor, vocabulary_size: int) -> tf.Tensor:
    """`ids` as int32, UNKNOWN for those outside the vocabulary: SentencePiece ends the process on them."""
    ids = tf.cast(ids, tf.int32)
    return tf.where((ids >= 0) & (ids < vocabulary_size), ids, UNKNOWN)


def content(ids: tf.Tensor | tf.RaggedTensor, vocabulary_size: int) -> tf.RaggedTensor:
    """The ids that stand for text: those before the first END, without PADDING and START.

    Args:
        ids: any integer type, [batch, length], dense or ragged.

    Returns:
        Ragged int32 [batch, (length)], ids outside the vocabulary replaced by UNKNOWN.
    """
    if isinstance(ids, tf.RaggedTensor):
        ids = ids.to_tensor(default_value=PADDING)
    ids = known_ids(ids, vocabulary_size)
    return tf.ragged.boolean_mask(ids, is_content(ids))


def is_content(ids: tf.Tensor) -> tf.Tensor:
    """Which of int32 [batch, length] stand for text, bool, same shape."""
    before_end = tf.cumsum(tf.cast(ids == END, tf.int32), axis=1) == 0
    return before_end & (ids != PADDING) & (ids != START)


def written(tokenizer: Tokenizer, ids: tf.Tensor, unknown: tf.Tensor) -> tf.RaggedTensor:
    """The words or pieces of dense [batch, length] that stand for text, ragged, those of `unknown` for UNKNOWN."""
    ids = known_ids(ids, tokenizer.vocabulary_size)
    words = tf.where(ids == UNKNOWN, unknown, tokenizer.words(ids))
    return tf.ragged.boolean_mask(words, is_content(ids))
