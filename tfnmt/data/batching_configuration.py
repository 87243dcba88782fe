"""How training data is filtered and batched: sentence pairs to translate, and examples to classify."""

from typing import Literal

from pydantic import Field, model_validator

from tfnmt.configuration import Configuration, require


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
    subword_sampling: float | None = Field(
        None,
        description="draw new subwords for each sentence in each epoch, of training text alone (not of records); with"
        " tokenizer=bpe the part of merges that are left out (BPE-dropout: 0.05 to 0.1), with tokenizer=unigram the"
        " exponent of the segmentations' probabilities (0.2 to 0.5; less is more random); none: always the best ones",
        gt=0,
        lt=1,
    )

    @model_validator(mode="after")
    def _check(self):
        by_sentences = self.batch_by == "sentences"
        require(
            by_sentences or self.subword_sampling is None,
            "subword_sampling",
            self.subword_sampling,
            "none with batch_by=tokens",
        )
        return self


class ExamplesConfiguration(Configuration):
    """Which examples a classifier is trained on, and how they are batched."""

    batch_size: int = Field(
        128, description="examples (sentences or pairs of sentences) in a batch", ge=1, le=1_000_000
    )
    maximum_length: int = Field(500, description="skip examples with a sentence of more words", ge=1, le=100_000)
    broken_trees: Literal["error", "skip"] = Field(
        "error", description="trees that are broken or not binary: an error, or skip and count their examples"
    )
    first_length: int | None = Field(
        None,
        description="begin with examples of at most so many words; the limit grows from epoch to epoch, by the same"
        " factor each, up to maximum_length. Epochs have the same number of batches: short examples come again",
        ge=1,
        le=100_000,
    )
    growing_epochs: int = Field(4, description="epochs in which the limit grows from first_length", ge=1, le=1_000_000)

    @model_validator(mode="after")
    def _check_lengths(self):
        if self.first_length is not None:
            allowed = f"at most maximum_length={self.maximum_length}"
            require(self.first_length <= self.maximum_length, "first_length", self.first_length, allowed)
        return self

    def without_effect(self) -> dict[str, str]:
        """See `Configuration.without_effect`."""
        return {"growing_epochs": "first_length=none"} if self.first_length is None else {}

    def longest(self, epoch: int) -> int:
        """The most words of a sentence in an epoch, counted from 0."""
        if self.first_length is None or epoch >= self.growing_epochs:
            return self.maximum_length
        growth = (self.maximum_length / self.first_length) ** (epoch / self.growing_epochs)
        return int(self.first_length * growth)
