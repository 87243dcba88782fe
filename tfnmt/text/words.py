"""Whole words, separated by white space, with "<unk>" for words outside the vocabulary."""

from collections import Counter
from collections.abc import Iterable, Mapping

import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.errors import UserError
from tfnmt.text.tokenizer import (
    SPECIAL_TOKENS,
    UNKNOWN,
    Tokenizer,
    normalize,
    normalized_chunks,
    remove_special_ids,
    replace_invalid_ids,
    tokens_of_text,
)

# A number with its separators ("1,000.5"), a word with its apostrophes and hyphens ("dog's", "well-known",
# "Limonade-"), or any other single character that is not white space.
_WORD = r"\pN+(?:[.,:]\pN+)+|[\pL\pM\pN]+(?:['’-][\pL\pM\pN]+)*-?|[^\s\v\pZ]"
_SPACES = r"[\s\v\pZ]*"
# Rules that remove the space before or after punctuation in decoded text: (pattern, replacement), in this order.
_ATTACH = (
    (r" ([.,!?;:%…)\]}])", r"\1"),
    (r"([(\[{¿¡]) ", r"\1"),
    (r'" ([^"]*) "', r'"\1"'),
    (r"„ ([^“]*) “", r"„\1“"),
    (r"“ ([^”]*) ”", r"“\1”"),
)


class WordTokenizer(Tokenizer):
    """Text <-> ids of whole words.

    Args:
        vocabulary: the words, without the four special ones; word i has id i + 4.
        lowercase: whether text is lowercased before lookup.
        split_punctuation: False for text that is already tokenized: it is split at white space, and decoding joins
            words with single spaces. True for plain text: punctuation marks are words of their own, and decoding
            attaches them again by rules, which may not restore the text.

    Raises:
        UserError: there is no word, or one is there twice, or it is one string in place of a list.
    """

    kind = "word"
    extension = ".txt"

    def __init__(self, vocabulary: list[str], lowercase: bool = False, split_punctuation: bool = False):
        super().__init__(name="word_tokenizer")
        require(not isinstance(vocabulary, str), "vocabulary", vocabulary, "a list of words")
        if not vocabulary:
            raise UserError("a word vocabulary needs at least one word")
        if len(set(vocabulary)) < len(vocabulary):
            (word, count), *_ = Counter(vocabulary).most_common(1)
            raise UserError(f"the word {word!r} is {count} times in the vocabulary")
        self.vocabulary_size = len(SPECIAL_TOKENS) + len(vocabulary)
        self.lowercase = lowercase
        self.split_punctuation = split_punctuation
        self._words = tf.constant([*SPECIAL_TOKENS, *vocabulary])
        first = len(SPECIAL_TOKENS)
        ids = tf.range(first, self.vocabulary_size, dtype=tf.int32)
        self._ids = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(self._words[first:], ids), default_value=UNKNOWN
        )

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        vocabulary_size: int | None = None,
        lowercase: bool = False,
        split_punctuation: bool = False,
    ) -> "WordTokenizer":
        """A vocabulary of the most frequent words of `lines` (streamed), equally frequent ones in alphabetical order.

        Args:
            vocabulary_size: the most words, including the four special ones; None for no limit.

        Raises:
            UserError: there are no words.
        """
        counts: Counter[bytes] = Counter()
        for chunk in normalized_chunks(lines, lowercase):
            counts.update(_split(chunk, split_punctuation).flat_values.numpy().tolist())
        return cls(_most_frequent(counts, vocabulary_size), lowercase, split_punctuation)

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], vocabulary_size: int | None = None, lowercase: bool = False
    ) -> "WordTokenizer":
        """As `train`, from word counts, for text that is already tokenized."""
        words, frequencies = list(counts), iter(counts.values())
        normalized: Counter[bytes] = Counter()
        for chunk in normalized_chunks(words, lowercase):
            for word in chunk.numpy().tolist():
                normalized[word] += next(frequencies)
        return cls(_most_frequent(normalized, vocabulary_size), lowercase)

    def encode(self, text: tf.Tensor) -> tf.RaggedTensor:
        """string [batch] -> ragged int32 [batch, (length)], without START and END."""
        return tf.ragged.map_flat_values(self._ids.lookup, self.surface_forms(text))

    def surface_forms(self, text: tf.Tensor) -> tf.RaggedTensor:
        """string [batch] -> ragged string [batch, (length)]: the words."""
        return _split(normalize(text, self.lowercase), self.split_punctuation)

    def decode(self, ids: tf.Tensor | tf.RaggedTensor, unknown_tokens: tf.Tensor | None = None) -> tf.Tensor:
        """Ids up to the first END as text; see `Tokenizer.decode`."""
        if unknown_tokens is None:
            words = tf.ragged.map_flat_values(self.ids_to_tokens, remove_special_ids(ids, self.vocabulary_size))
        else:
            words = tokens_of_text(self, ids, unknown_tokens)
        text = tf.strings.reduce_join(words, axis=1, separator=" ")
        if self.split_punctuation:
            for pattern, replacement in _ATTACH:
                text = tf.strings.regex_replace(text, pattern, replacement)
        return text

    def ids_to_tokens(self, ids: tf.Tensor) -> tf.Tensor:
        """The word of each id: integers of any shape -> string, same shape."""
        return tf.gather(self._words, replace_invalid_ids(ids, self.vocabulary_size))

    def begins_word(self, ids: tf.Tensor) -> tf.Tensor:
        """True for every id; punctuation marks are words of their own."""
        return tf.ones_like(ids, tf.bool)

    def vocabulary(self) -> list[str]:
        """All words in the order of their ids, without the four special ones."""
        return [word.decode("utf-8") for word in self._words.numpy()[len(SPECIAL_TOKENS) :]]

    def options(self) -> dict:
        """What goes to NAME.json beside the asset."""
        return {"lowercase": self.lowercase, "split_punctuation": self.split_punctuation}

    def get_config(self) -> dict:
        return {"kind": self.kind, "vocabulary": self.vocabulary(), **self.options()}

    @classmethod
    def from_config(cls, config: dict) -> "WordTokenizer":
        return cls(**{key: value for key, value in config.items() if key != "kind"})

    def asset(self) -> bytes:
        """What goes to the file NAME.txt: one word a line, in the order of their ids."""
        return "".join(word + "\n" for word in self.vocabulary()).encode("utf-8")

    @classmethod
    def from_asset(cls, asset: bytes, options: dict) -> "WordTokenizer":
        return cls(asset.decode("utf-8").split("\n")[:-1], **options)


def _most_frequent(counts: Counter, vocabulary_size: int | None) -> list[str]:
    """The words of the vocabulary, the most frequent first."""
    for special in SPECIAL_TOKENS:
        counts.pop(special.encode(), None)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    if vocabulary_size is not None:
        ranked = ranked[: max(0, vocabulary_size - len(SPECIAL_TOKENS))]
    if not ranked:
        if not counts:
            raise UserError("no words to learn: the text has none")
        raise UserError(
            f"no words to learn: the text has {len(counts)} and the vocabulary holds {vocabulary_size}, "
            "the four special words among them"
        )
    return [word.decode("utf-8") for word in ranked]


def _split(text: tf.Tensor, split_punctuation: bool) -> tf.RaggedTensor:
    """string [batch] -> ragged string [batch, (words)]."""
    if split_punctuation:  # a space after each word, and no other white space
        text = tf.strings.regex_replace(text, rf"{_SPACES}({_WORD}){_SPACES}|{_SPACES}", r"\1 ")
    return tf.strings.split(text)
