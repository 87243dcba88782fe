"""How translations are searched for: all options of all searches, in one configuration."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tfnmt.configuration import require
from tfnmt.search.configuration import BeamConfiguration, SampleConfiguration


class SearchConfiguration(BeamConfiguration, SampleConfiguration):
    """What `Searcher` searches for. The keys of the methods that are not chosen mean nothing."""

    method: Literal["greedy", "sample", "beam"] = Field(
        "beam", description="how words are chosen; a beam of 1 is greedy too"
    )
    n_best: int = Field(1, description="translations of each sentence, up to the size of the beam", ge=1)
    seed: int = Field(
        1,
        description="of sampling: the same seed and text give the same translation, whatever the batch",
        ge=0,
        le=2**31 - 1,
    )
    maximum_length_factor: float = Field(
        2.0, description="a translation has at most factor · source tokens + offset tokens", ge=0, le=1000
    )
    maximum_length_offset: int = Field(12, description="see maximum_length_factor", ge=0, le=100_000)
    minimum_length: int = Field(
        0, description="tokens that a translation has at least, up to its maximum length", ge=0, le=100_000
    )
    no_repeat_ngram: int | None = Field(
        None, description="never write the same n tokens in a row twice in one translation", ge=1, le=100
    )
    no_unknown: bool = Field(False, description="never write <unk>")
    replace_unknown: bool = Field(False, description="write the source word that <unk> attends to most in its place")
    banned_words: tuple[str, ...] = Field(
        (), description="words that are never written, each one token of the target vocabulary", strict=False
    )
    scores: bool = Field(
        True,
        description="compute the translations' log-probabilities; greedy search, which needs none, is faster without",
    )
    precision: Literal["float32", "bfloat16", "int8"] = Field(
        "float32",
        description="of matrix products: bfloat16 of the decoder's, int8 of all, which are nearly as exact, and faster"
        " where the processor has them",
    )
    float32_products: tuple[Annotated[tuple[int, int], Field(strict=False)], ...] = Field(
        (),
        description="with precision=int8: sizes [in, out] of matrices that are multiplied in float32 all the same,"
        " since that is faster; measured by export",
        strict=False,
    )
    alignments: bool = Field(False, description="return the attention of every token and the alignment of words too")

    @model_validator(mode="after")
    def _check(self):
        beam = self.method == "beam"
        most = self.beam_size if beam else 1
        allowed = f"1 to {most} (beam_size)" if beam else f"1 with method={self.method}, which finds one translation"
        require(self.n_best <= most, "n_best", self.n_best, allowed)
        require(beam or not self.coverage_penalty, "coverage_penalty", self.coverage_penalty, "0 without method=beam")
        return self

    @property
    def hypotheses(self) -> int:
        """How many hypotheses of each sentence are kept at once."""
        return self.beam_size if self.method == "beam" else 1
