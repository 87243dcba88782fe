"""How a translation is looked for: everything that can be asked of a search, as one configuration."""

from typing import Literal

from pydantic import Field, model_validator

from tfnmt.configuration import require
from tfnmt.search.beam import BeamConfiguration
from tfnmt.search.sampling import SampleConfiguration


class SearchConfiguration(BeamConfiguration, SampleConfiguration):
    """What `Searcher` looks for. The keys of the other methods mean nothing to the one chosen."""

    method: Literal["greedy", "sample", "beam"] = Field(
        "beam", description="how words are chosen; a beam of 1 is greedy too"
    )
    n_best: int = Field(1, description="translations of each sentence, of a beam's at most as many as it is wide", ge=1)
    seed: int = Field(1, description="of sampling: one seed, one text, whatever the batch", ge=0, le=2**31 - 1)
    maximum_length_factor: float = Field(
        2.0, description="a translation has at most factor · source tokens + offset tokens", ge=0
    )
    maximum_length_offset: int = Field(12, description="see maximum_length_factor", ge=0)
    minimum_length: int = Field(0, description="tokens that a translation has at least", ge=0)
    no_repeated_ngram: int | None = Field(
        None, description="never the same so many tokens in a row twice in one translation", ge=1
    )
    no_unknown: bool = Field(False, description="never <unk>")
    replace_unknown: bool = Field(False, description="in the place of <unk>, the source word that it attends to most")
    banned_words: tuple[str, ...] = Field(
        (), description="words never written, each one token of the target vocabulary", strict=False
    )
    precision: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="what the decoder's matrices are multiplied in; bfloat16 is fast where the processor has it",
    )
    alignments: bool = Field(False, description="give the attention of every word too, and which word belongs to which")

    @model_validator(mode="after")
    def _check(self):
        beam = self.method == "beam"
        most = self.beam_size if beam else 1
        require(self.n_best <= most, "n_best", self.n_best, f"1 to {most} (beam_size, with method=beam)")
        require(beam or not self.coverage_penalty, "coverage_penalty", self.coverage_penalty, "0 without method=beam")
        return self

    @property
    def rows(self):
        """How many beginnings of each sentence are kept at once."""
        return self.beam_size if self.method == "beam" else 1
