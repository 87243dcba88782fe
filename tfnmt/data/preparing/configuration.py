"""Which pairs of a large corpus are kept, and how many are in a shard."""

from pydantic import Field

from tfnmt.configuration import Configuration


class FilterConfiguration(Configuration):
    """Which sentence pairs are dropped. Characters are counted without white space."""

    maximum_characters: int = Field(
        1000, description="drop pairs with more characters on either side", ge=1, le=100_000
    )
    maximum_character_ratio: float = Field(
        4.0,
        description="drop pairs with one side longer than 40 characters and than this many times the other side",
        ge=1,
    )
    minimum_letters: float = Field(
        0.5,
        description="drop pairs with a side of whose characters a smaller part is letters and their marks, such as"
        " vowel signs",
        ge=0,
        le=1,
    )
    source_script: str | None = Field(
        None, description="script of the source in Unicode, such as Latin; drop pairs with half the letters in others"
    )
    target_script: str | None = Field(None, description="script of the target, likewise")
    drop_identical: bool = Field(True, description="drop pairs whose sides are the same")
    drop_duplicates: bool = Field(True, description="drop pairs that were there before, however far before")


class ShardConfiguration(Configuration):
    """How a corpus is divided, and of how much of it the tokenizers are made."""

    shard_pairs: int = Field(100_000, description="pairs that are read for a shard", ge=1, le=10_000_000)
    sample_pairs: int = Field(
        1_000_000, description="pairs, about, that the tokenizers are made from, drawn from all", ge=1, le=100_000_000
    )
    seed: int = Field(1, description="of the sample and the tokenizers", ge=0, le=2**31 - 1)
