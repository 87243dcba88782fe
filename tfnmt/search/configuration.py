"""What searches search for, without TensorFlow: command lines are made from it, too."""

from typing import Literal

from pydantic import Field

from tfnmt.configuration import Configuration


class BeamConfiguration(Configuration):
    """What a beam search searches for."""

    beam_size: int = Field(5, description="K, hypotheses of each sentence; 1 is greedy search", ge=1, le=2**16)
    length_penalty: float = Field(
        1.0,
        description="α of the length that log-probabilities are divided by; 0 favours short translations",
        ge=0,
        le=10,
    )
    length_norm: Literal["length", "gnmt"] = Field("length", description="|y|^α, or ((5 + |y|) / 6)^α (Wu et al. 2016)")
    coverage_penalty: float = Field(
        0.0, description="β of the penalty for source words that no word has attended to", ge=0
    )


class SampleConfiguration(Configuration):
    """Which words are drawn, and how often."""

    temperature: float = Field(
        1.0,
        description="of sampling: log-probabilities are divided by it; towards 0 it becomes greedy search",
        ge=0.001,
        le=1000,
    )
    top_k: int | None = Field(
        None, description="sample from the k most probable words only (Fan et al. 2018)", ge=1, le=2**16
    )
    top_p: float | None = Field(
        None, description="sample from the most probable that have together this probability or more", gt=0, le=1
    )
