"""What is trained on, and how it becomes batches: sentence pairs to translate, and examples to classify."""

from dataclasses import dataclass
from typing import Literal

from tfnmt.configuration import check_types, option, require


@dataclass(frozen=True)
class BatchingConfiguration:
    """Which pairs are trained on, and how they are put together."""

    batch_size: int = option(64, "size of a batch, in what batch_by counts")
    batch_by: Literal["sentences", "tokens"] = option(
        "sentences", "tokens: those of the longer side, END and padding included"
    )
    maximum_length: int = option(100, "pairs with a side of more tokens are dropped")
    maximum_ratio: float = option(
        4.0, "pairs with one side of over 10 tokens and of over so many times the other's are dropped"
    )
    shuffle_buffer: int = option(100_000, "pairs held in memory to shuffle: the next is drawn from so many")

    def __post_init__(self):
        check_types(self)
        for name in ("batch_size", "maximum_length", "maximum_ratio", "shuffle_buffer"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "a number from 1")


@dataclass(frozen=True)
class ExamplesConfiguration:
    """Which examples a classifier is trained on, and how they are put together."""

    batch_size: int = option(128, "examples (sentences or pairs of sentences) in a batch")
    maximum_length: int = option(500, "examples with a sentence of more words are left out")
    broken_trees: Literal["error", "skip"] = option(
        "error", "what a tree that is broken or not binary is; skip: leave the example out and count it"
    )

    def __post_init__(self):
        check_types(self)
        for name in ("batch_size", "maximum_length"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "a whole number from 1")
