"""How training data is filtered and batched: sentence pairs to translate, and examples to classify."""

from typing import Literal

from pydantic import Field

from tfnmt.configuration import Configuration


class BatchingConfiguration(Configuration):
    """Which sentence pairs are used in training, and how they are batched."""

    batch_size: int = Field(64, description="size of a batch, in the units of batch_by", ge=1, le=1_000_000)
    batch_by: Literal["sentences", "tokens"] = Field(
        "sentences", description="unit of batch_size; tokens: of the longer side, including END and padding"
    )
    maximum_length: int = Field(100, description="drop pairs with more tokens on either side", ge=1, le=100_000)
    maximum_ratio: float = Field(
        4.0, description="drop pairs with one side longer than 10 tokens and than this many times the other side", ge=1
    )
    shuffle_buffer: int = Field(
        100_000, description="pairs in memory from which the next one is drawn", ge=1, le=100_000_000
    )


class ExamplesConfiguration(Configuration):
    """Which examples a classifier is trained on, and how they are batched."""

    batch_size: int = Field(
        128, description="examples (sentences or pairs of sentences) in a batch", ge=1, le=1_000_000
    )
    maximum_length: int = Field(500, description="skip examples with a sentence of more words", ge=1, le=100_000)
    broken_trees: Literal["error", "skip"] = Field(
        "error", description="trees that are broken or not binary: an error, or skip and count their examples"
    )
