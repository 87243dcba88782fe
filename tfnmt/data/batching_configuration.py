"""What is trained on, and how it becomes batches: sentence pairs to translate, and examples to classify."""

from typing import Literal

from pydantic import Field

from tfnmt.configuration import Configuration


class BatchingConfiguration(Configuration):
    """Which pairs are trained on, and how they are put together."""

    batch_size: int = Field(64, description="size of a batch, in what batch_by counts", ge=1)
    batch_by: Literal["sentences", "tokens"] = Field(
        "sentences", description="tokens: those of the longer side, END and padding included"
    )
    maximum_length: int = Field(100, description="pairs with a side of more tokens are dropped", ge=1)
    maximum_ratio: float = Field(
        4.0, description="pairs with one side of over 10 tokens and of over so many times the other's are dropped", ge=1
    )
    shuffle_buffer: int = Field(
        100_000, description="pairs held in memory to shuffle: the next is drawn from so many", ge=1
    )


class ExamplesConfiguration(Configuration):
    """Which examples a classifier is trained on, and how they are put together."""

    batch_size: int = Field(128, description="examples (sentences or pairs of sentences) in a batch", ge=1)
    maximum_length: int = Field(500, description="examples with a sentence of more words are left out", ge=1)
    broken_trees: Literal["error", "skip"] = Field(
        "error", description="what a tree that is broken or not binary is; skip: leave the example out and count it"
    )
