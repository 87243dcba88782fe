"""Which sentence pairs are trained on, and how they become batches."""

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
