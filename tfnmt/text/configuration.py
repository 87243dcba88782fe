"""How text becomes ids: which tokenizers a model gets."""

from dataclasses import dataclass
from typing import Literal

from tfnmt.configuration import check_types, option, require


@dataclass(frozen=True)
class TextConfiguration:
    """How text becomes ids."""

    tokenizer: Literal["unigram", "bpe", "words"] = option("bpe", "SentencePiece subwords of two kinds, or plain words")
    vocabulary_size: int = option(10_000, "ids of each tokenizer at most; subwords: exactly")
    joint_vocabulary: bool = option(True, "one tokenizer made from both sides' text")
    lowercase: bool = option(False, "lowercase all text before it is tokenized")
    split_punctuation: bool = option(
        False, "words only: part words from punctuation; false for text that is already tokenized"
    )

    def __post_init__(self):
        check_types(self)
        require(self.vocabulary_size >= 5, "vocabulary_size", self.vocabulary_size, "a whole number from 5")
