"""The configuration of a classifier: its task, its encoder and the sizes of its layers."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tfnmt.classification.encoders import ENCODERS
from tfnmt.configuration import Configuration, KeyOf, require
from tfnmt.data.tasks import TASKS
from tfnmt.layers.registry import COMPOSITIONS

TOKENIZER_KEYS = ("vocabulary_size", "lowercase")  # of the configuration, which say how the tokenizer is made

OF_ENCODERS = frozenset(
    {
        "units",
        "encoder_layers",
        "bidirectional",
        "widths",
        "tracker_units",
        "state_dropout",
        "composition",
        "composition_dropout",
        "leaf_rnn",
        "tracker_reads",
        "reduce_bias",
        "tracked_composition",
    }
)
"""Keys that only some encoders are made from."""
OF_SAMPLES = ("reward", "baseline", "policy_weight", "entropy_weight")
"""Keys about parses that are sampled in training."""


class ClassifierConfiguration(Configuration):
    """Task, encoder and layers of a classifier. See each encoder and `MultilayerPerceptron` for the equations."""

    task: Annotated[str, KeyOf(TASKS)] = Field("snli", description="what is classified, into which classes")
    encoder: Annotated[str, KeyOf(ENCODERS)] = Field("spinn-pi-nt", description="the encoder of sentences")
    vocabulary_size: int | None = Field(
        None,
        description="size of the vocabulary, of the most frequent words; none: all of the training data",
        ge=1,
        le=10_000_000,
    )
    lowercase: bool = Field(False, description="lowercase words before they are looked up")
    brackets_as_words: bool = Field(
        False,
        description="read the brackets of the text as words, too, -LRB- and -RRB-: without them a formula is ambiguous"
        " for a model that parses by itself; not with sst and sst2, whose phrases have labels",
    )
    composed_brackets: bool = Field(
        True,
        description="compose brackets that are words, too; with false only the tracker of tracker_reads=words reads"
        " them, and its tree is composed without them",
    )
    embedding_size: int = Field(
        128, description="size of the word embeddings; with pretrained vectors, the size of these", ge=1, le=8192
    )
    trained_embeddings: bool = Field(True, description="train the word embeddings; with false they stay as initialized")
    projection: int | None = Field(
        None, description="size of an affine projection of the word embeddings; none: no projection", ge=1, le=8192
    )
    units: int = Field(
        128,
        description="units of the encoder: of h (and c) in a recurrence or tree, of the output of a window",
        ge=1,
        le=8192,
    )
    encoder_layers: int = Field(1, description="gru, lstm, inception: number of layers", ge=1, le=64)
    bidirectional: bool = Field(False, description="gru, lstm: read in both directions")
    widths: tuple[int, ...] = Field((1, 3, 5), description="cnn: words in each window", strict=False)
    pair_attention: bool = Field(
        False,
        description="tasks with two sentences: let each phrase, or word of encoders without trees, attend to those of"
        " the other sentence, and compare them, too (Parikh et al. 2016)",
    )
    activation: Literal["relu", "maxout"] = Field("relu", description="cnn, inception and the head: their activation")
    tracker_units: int = Field(64, description="units of the tracker", ge=1, le=8192)
    head_units: int = Field(128, description="units of the hidden layers between features and classes", ge=1, le=8192)
    head_layers: int = Field(1, description="number of hidden layers; 0: logistic regression", ge=0, le=64)
    batch_normalization: bool = Field(False, description="batch normalization of word embeddings and of the head")
    embedding_dropout: float = Field(0.0, description="dropout rate of the word embeddings", ge=0, lt=1)
    state_dropout: float = Field(0.0, description="gru, lstm: dropout rate of h in its product with U", ge=0, lt=1)
    head_dropout: float = Field(0.0, description="dropout rate of the features and the hidden layers", ge=0, lt=1)
    composition: Annotated[str, KeyOf(COMPOSITIONS)] = Field(
        "tree-lstm",
        description="encoders of trees: what makes a phrase of two; grc is the gated recursive cell of Ordered Memory",
    )
    composition_dropout: float = Field(
        0.0,
        description="encoders of trees: part of the composition's matrices dropped in training, one mask for a batch",
        ge=0,
        lt=1,
    )
    leaf_rnn: Literal["gru", "lstm"] | None = Field(
        None,
        description="encoders of trees: read the words in both directions first, by such cells of `units` each, and"
        " make the leaves of their states, of which embedding_dropout drops a part, too (Choi et al. 2018); none: do"
        " not",
    )
    tracker_reads: Literal["phrases", "words"] = Field(
        "phrases",
        description="spinn, rl-spinn: what the tracker reads of buffer and stack: phrases, as in the paper, or only the"
        " words at the borders of the stack's highest phrase, so that it parses before anything is composed",
    )
    reduce_bias: float = Field(
        0.0,
        description="tracker_reads=words: what is added to the logit of REDUCE before training, unless it begins with"
        " the weights of `initial`; the larger, the more trees branch to the left at first",
        ge=-100,
        le=100,
    )
    tracked_composition: bool = Field(
        True,
        description="spinn, rl-spinn: the composition reads the tracker's state, as in the paper and in spinn-pi; not"
        " with tracker_reads=words",
    )
    transition_weight: float = Field(
        1.0,
        description="spinn: weight of the loss of the transitions, relative to that of the classes; 0: the parser"
        " learns nothing",
        ge=0,
    )
    reward: Literal["log_likelihood", "accuracy", "mean_likelihood"] = Field(
        "log_likelihood",
        description="rl-spinn: reward of a parse; mean_likelihood is a common reward of all parses of a sentence",
    )
    baseline: Literal["leave_one_out", "running"] = Field(
        "leave_one_out",
        description="rl-spinn: what a reward is compared with; leave_one_out: the mean reward of the other samples;"
        " running: (reward - mean) / std with averages that run over batches, the post's; not with mean_likelihood",
    )
    samples: int = Field(
        2,
        description="rl-spinn: parses sampled for each sentence in training; 0: the most probable parse alone, of which"
        " the parser learns nothing",
        ge=0,
        le=1000,
    )
    policy_weight: float = Field(1.0, description="rl-spinn: weight of the REINFORCE loss", ge=0)
    entropy_weight: float = Field(
        0.01, description="rl-spinn: weight of the entropy of the transition probabilities", ge=0
    )
    micro_batches: int = Field(
        1,
        description="parts in which a batch is trained and evaluated, in parallel, each on a processor of its own",
        ge=1,
        le=64,
    )

    @model_validator(mode="after")
    def _check(self):
        if self.reward == "mean_likelihood":
            require(self.samples >= 2, "samples", self.samples, "2 or more with reward=mean_likelihood")
            require(self.baseline != "running", "baseline", self.baseline, "leave_one_out with reward=mean_likelihood")
        odd = self.widths and all(1 <= width < 1000 and width % 2 for width in self.widths)
        require(odd and len(self.widths) <= 100, "widths", self.widths, "up to 100 odd whole numbers under 1000")
        allowed = f"false with task={self.task}, whose phrases have labels"
        require(not (self.brackets_as_words and self.reads_phrases), "brackets_as_words", True, allowed)
        allowed = f"false with task={self.task}, which has no pairs of sentences"
        require(self.reads_pairs or not self.pair_attention, "pair_attention", True, allowed)
        if not self.composed_brackets:
            require(self.brackets_as_words, "brackets_as_words", False, "true with composed_brackets=false")
            require(
                self.tracker_reads == "words", "tracker_reads", self.tracker_reads, "words with composed_brackets=false"
            )
            allowed = "spinn or rl-spinn with composed_brackets=false"
            require(ENCODERS[self.encoder].predicts_parses, "encoder", self.encoder, allowed)
            # It would attend to the words that are left out, too.
            require(not self.pair_attention, "pair_attention", True, "false with composed_brackets=false")
        minimum = ENCODERS[self.encoder].minimum_units
        require(self.units >= minimum, "units", self.units, f"{minimum} or more with encoder={self.encoder}")
        return self

    def without_effect(self) -> dict[str, str]:
        """See `Configuration.without_effect`."""
        spec, of_encoder = ENCODERS[self.encoder], f"encoder={self.encoder}"
        unused = dict.fromkeys(sorted(OF_ENCODERS - spec.keys_read(self)), of_encoder)
        if spec.predicts_parses and self.tracker_reads == "words":
            unused["tracked_composition"] = "tracker_reads=words"
        if not spec.learns_from_parses:
            unused["transition_weight"] = of_encoder
        if not spec.samples_parses:
            unused |= dict.fromkeys(("samples", *OF_SAMPLES), of_encoder)
        elif self.samples == 0:
            unused |= dict.fromkeys(OF_SAMPLES, "samples=0")
        if self.head_layers == 0:
            unused["head_units"] = "head_layers=0"
            if "activation" not in spec.keys_read(self):
                unused["activation"] = f"head_layers=0 and {of_encoder}"
        return unused

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, in the order of their logits."""
        return TASKS[self.task].labels

    @property
    def needs_brackets(self) -> bool:
        """Whether all texts must be binary trees in brackets: for their parses, or as what a parser reads."""
        spec = ENCODERS[self.encoder]
        return spec.needs_parses or (spec.predicts_parses and self.brackets_as_words)

    @property
    def samples_parses(self) -> bool:
        """Whether parses are sampled in training."""
        return ENCODERS[self.encoder].samples_parses and self.samples > 0

    @property
    def reads_pairs(self) -> bool:
        """Whether pairs of sentences are classified."""
        return TASKS[self.task].sentences == 2

    @property
    def reads_phrases(self) -> bool:
        """Whether every phrase of a sentence's tree has a label."""
        return TASKS[self.task].phrase_labels
