"""Plain words: what stands between spaces, with "<unk>" for words outside the vocabulary."""

from collections import Counter
from collections.abc import Iterable, Mapping

import tensorflow as tf
import tensorflow_text as tf_text

from tfnmt.errors import UserError
from tfnmt.text.tokenizer import (
    SPECIAL_WORDS,
    UNKNOWN,
    Tokenizer,
    content,
    known_ids,
    normalize,
    normalized_chunks,
    written,
)

# A number with its separators ("1,000.5"), a word with its apostrophes and hyphens ("dog's", "well-known",
# "Limonade-"), or any other single character that is not white space.
_WORD = r"\pN+(?:[.,:]\pN+)+|[\pL\pM\pN]+(?:['’-][\pL\pM\pN]+)*-?|[^\s\pZ]"
# How decoded words lose the space before or after punctuation: (pattern, replacement), in this order.
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
        lowercase: whether text is lowercased before it is looked up.
        split_punctuation: False for text that is already tokenized: words are what stands between white
            space, and decoding joins them with single spaces. True for plain text: punctuation is split off
            as words of its own, and decoding attaches it again by rules, which may not restore the text.
    """

    kind = "word"
    extension = ".txt"

    def __init__(self, vocabulary: list[str], lowercase: bool = False, split_punctuation: bool = False):
        super().__init__(name="word_tokenizer")
        if not vocabulary:
            raise UserError("a word vocabulary needs at least one word")
        self.vocabulary_size = len(SPECIAL_WORDS) + len(vocabulary)
        self.lowercase = lowercase
        self.split_punctuation = split_punctuation
        self._words = tf.constant([*SPECIAL_WORDS, *vocabulary])
        first = len(SPECIAL_WORDS)
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
        """Keeps the most frequent words of `lines` (streamed), equally frequent ones in alphabetical order.

        Args:
            vocabulary_size: at most this many words, the four special ones among them; None keeps all.

        Raises:
            UserError: there is no word to keep.
        """
        counts = Counter()
        for chunk in normalized_chunks(lines, lowercase):
            counts.update(_split(chunk, split_punctuation).flat_values.numpy().tolist())
        return cls(_most_frequent(counts, vocabulary_size), lowercase, split_punctuation)

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], vocabulary_size: int | None = None, lowercase: bool = False
    ) -> "WordTokenizer":
        """The same, of words that are counted already, for text that is already tokenized."""
        words, numbers = list(counts), iter(counts.values())
        normalized = Counter()
        for chunk in normalized_chunks(words, lowercase):
            for word in chunk.numpy().tolist():
                normalized[word] += next(numbers)
        return cls(_most_frequent(normalized, vocabulary_size), lowercase)

    def encode(self, text: tf.Tensor) -> tf.RaggedTensor:
        """string [batch] -> ragged int32 [batch, (length)], without START and END."""
        return tf.ragged.map_flat_values(self._ids.lookup, self.surfaces(text))

    def surfaces(self, text: tf.Tensor) -> tf.RaggedTensor:
        """string [batch] -> ragged string [batch, (length)]: the words."""
        return _split(normalize(text, self.lowercase), self.split_punctuation)

    def decode(self, ids: tf.Tensor | tf.RaggedTensor, unknown: tf.Tensor | None = None) -> tf.Tensor:
        """Integers [batch, length], dense or ragged -> string [batch]: what stands before the first END."""
        if unknown is None:
            words = tf.ragged.map_flat_values(self.words, content(ids, self.vocabulary_size))
        else:
            words = written(self, ids, unknown)
        text = tf.strings.reduce_join(words, axis=1, separator=" ")
        if self.split_punctuation:
            for pattern, replacement in _ATTACH:
                text = tf.strings.regex_replace(text, pattern, replacement)
        return text

    def words(self, ids: tf.Tensor) -> tf.Tensor:
        """The word that each id stands for: integers of any shape -> string, same shape."""
        return tf.gather(self._words, known_ids(ids, self.vocabulary_size))

    def begins_word(self, ids: tf.Tensor) -> tf.Tensor:
        """True for every id: punctuation that was split off is a word of its own."""
        return tf.ones_like(ids, tf.bool)

    def vocabulary(self) -> list[str]:
        """Every word, in the order of their ids, without the four special ones."""
        return [word.decode("utf-8") for word in self._words.numpy()[len(SPECIAL_WORDS) :]]

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
    """The words (UTF-8) that are kept, the most frequent first."""
    for special in SPECIAL_WORDS:
        counts.pop(special.encode(), None)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    if vocabulary_size is not None:
        ranked = ranked[: max(0, vocabulary_size - len(SPECIAL_WORDS))]
    if not ranked:
        raise UserError(
            f"no words to learn: the text has {len(counts)} and the vocabulary holds {vocabulary_size}, "
            "the four special words among them"
        )
    return [word.decode("utf-8") for word in ranked]


def _split(text: tf.Tensor, split_punctuation: bool) -> tf.RaggedTensor:
    """string [batch] -> ragged string [batch, (words)]."""
    if not split_punctuation:
        return tf.strings.split(text)
    return tf_text.regex_split(text, delim_regex_pattern=rf"{_WORD}|[\s\pZ]+", keep_delim_regex_pattern=_WORD)
