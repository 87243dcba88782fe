"""How a translation is looked for: everything that can be asked of a search, as one configuration."""

from dataclasses import dataclass
from typing import Literal

from tfnmt.configuration import option, require
from tfnmt.search.beam import BeamConfiguration
from tfnmt.search.greedy import SampleConfiguration


@dataclass(frozen=True)
class SearchConfiguration(BeamConfiguration, SampleConfiguration):
    """What `Searcher` looks for. The keys of the other methods mean nothing to the one chosen."""

    method: Literal["greedy", "sample", "beam"] = option("beam", "how words are chosen; a beam of 1 is greedy too")
    n_best: int = option(1, "translations of each sentence, of a beam's at most as many as it is wide")
    seed: int = option(1, "of sampling: one seed, one text, whatever the batch")
    maximum_length_factor: float = option(2.0, "a translation has at most factor · source tokens + offset tokens")
    maximum_length_offset: int = option(12, "see maximum_length_factor")
    minimum_length: int = option(0, "tokens that a translation has at least")
    no_repeated_ngram: int | None = option(None, "never the same so many tokens in a row twice in one translation")
    no_unknown: bool = option(False, "never <unk>")
    replace_unknown: bool = option(False, "in the place of <unk>, the source word that it attends to most")
    banned_words: tuple[str, ...] = option((), "words never written, each one token of the target vocabulary")
    precision: Literal["float32", "bfloat16"] = option(
        "float32", "what the decoder's matrices are multiplied in; bfloat16 is fast where the processor has it"
    )
    alignments: bool = option(False, "give the attention of every word too, and which word belongs to which")

    def __post_init__(self):
        BeamConfiguration.__post_init__(self)  # which checks the types of all fields
        SampleConfiguration.__post_init__(self)
        most = self.beam_size if self.method == "beam" else 1
        require(1 <= self.n_best <= most, "n_best", self.n_best, f"1 to {most} (beam_size, with method=beam)")
        require(self.maximum_length_factor >= 0, "maximum_length_factor", self.maximum_length_factor, "a number from 0")
        for key in ("maximum_length_offset", "minimum_length"):
            require(getattr(self, key) >= 0, key, getattr(self, key), "a whole number from 0")
        require(0 <= self.seed < 2**31, "seed", self.seed, "a whole number from 0 to 2^31 - 1")
        beam = self.method == "beam"
        require(beam or not self.coverage_penalty, "coverage_penalty", self.coverage_penalty, "0 without method=beam")
        n = self.no_repeated_ngram
        require(n is None or n >= 1, "no_repeated_ngram", n, "a whole number from 1, or none")

    @property
    def rows(self):
        """How many beginnings of each sentence are kept at once."""
        return self.beam_size if self.method == "beam" else 1
