"""Which tokenizers a translator gets. (Apart from text/tokenizers.py, so that `--help` does not import TensorFlow.)"""

from typing import Literal

from pydantic import Field

from tfnmt.configuration import Configuration


class TextConfiguration(Configuration):
    """How text becomes ids."""

    tokenizer: Literal["unigram", "bpe", "words"] = Field(
        "bpe", description="SentencePiece subwords of two kinds, or plain words"
    )
    vocabulary_size: int = Field(
        10_000, description="ids of each tokenizer at most; subwords: exactly", ge=5, le=10_000_000
    )
    joint_vocabulary: bool = Field(True, description="one tokenizer made from both sides' text")
    character_coverage: float = Field(
        1.0,
        description="subwords only: part of the text's characters that the vocabulary has, the rarer ones are unknown;"
        " 0.9995 for scripts of thousands of characters, such as Chinese and Japanese",
        ge=0.98,  # SentencePiece takes no less
        le=1,
    )
    lowercase: bool = Field(False, description="lowercase all text before it is tokenized")
    split_punctuation: bool = Field(
        False, description="words only: part words from punctuation; false for text that is already tokenized"
    )

    def without_effect(self) -> dict[str, str]:
        """See `Configuration.without_effect`."""
        unused = "character_coverage" if self.tokenizer == "words" else "split_punctuation"
        return {unused: f"tokenizer={self.tokenizer}"}
