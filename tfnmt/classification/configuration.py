"""What a classifier of sentences is made of: its configuration."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tfnmt.classification.encoders import ENCODERS
from tfnmt.configuration import Configuration, KeyOf, require
from tfnmt.data.tasks import TASKS


class ClassifierConfiguration(Configuration):
    """Sizes and kinds of a classifier's layers. See each encoder and `MultilayerPerceptron` for the equations."""

    task: Annotated[str, KeyOf(TASKS)] = Field("snli", description="what is classified, and as what")
    encoder: Annotated[str, KeyOf(ENCODERS)] = Field("spinn-pi-nt", description="what makes a vector of a sentence")
    vocabulary_size: int | None = Field(
        None, description="the most frequent words that are known; none: all of the training data", ge=1
    )
    lowercase: bool = Field(False, description="words are lowercased before they are looked up")
    embedding_size: int = Field(
        128, description="size of a word's vector in the table; with vectors from a file, theirs counts", ge=1
    )
    trained_embeddings: bool = Field(
        True, description="train the table of word vectors; with false it stays as it starts"
    )
    projection: int | None = Field(
        None, description="size to which an affine map brings a word's vector before it is read", ge=1
    )
    units: int = Field(
        128, description="size of the state: of h (and c) in a recurrence or tree, of each window's output", ge=1
    )
    encoder_layers: int = Field(1, description="layers of gru, lstm and inception", ge=1)
    bidirectional: bool = Field(False, description="gru and lstm read from both ends")
    widths: tuple[int, ...] = Field((1, 3, 5), description="words in the windows of cnn", strict=False)
    activation: Literal["relu", "maxout"] = Field("relu", description="of cnn, inception and the head")
    tracker_units: int = Field(64, description="size of the tracker's state", ge=1)
    head_units: int = Field(128, description="size of the hidden layers between sentence vector and classes", ge=1)
    head_layers: int = Field(1, description="how many hidden layers; 0: logistic regression", ge=0)
    batch_normalization: bool = Field(False, description="normalise word vectors and the head's layers over the batch")
    embedding_dropout: float = Field(0.0, description="part of the word vectors dropped", ge=0, lt=1)
    state_dropout: float = Field(0.0, description="part of h in gru and lstm dropped in its product with U", ge=0, lt=1)
    head_dropout: float = Field(0.0, description="part of the features and of the head's layers dropped", ge=0, lt=1)
    tracked_composition: bool = Field(
        True,
        description="spinn, rl-spinn: the tracker's state enters the composition, as in the paper; in spinn-pi always",
    )
    transition_weight: float = Field(
        1.0, description="spinn alone: weight of the transitions' loss beside the classes'", ge=0
    )
    reward: Literal["log_likelihood", "accuracy", "mean_likelihood"] = Field(
        "log_likelihood",
        description="rl-spinn alone: what a parse is worth; mean_likelihood: all of a sentence's draws together",
    )
    samples: int = Field(2, description="rl-spinn alone: parses drawn of each sentence in training", ge=1)
    policy_weight: float = Field(1.0, description="rl-spinn alone: weight of REINFORCE beside the classes' loss", ge=0)
    entropy_weight: float = Field(
        0.01, description="rl-spinn alone: weight of the entropy of the parser's choices", ge=0
    )
    micro_batches: int = Field(
        1, description="micro-batches that a batch is trained in, in parallel, each on a processor of its own", ge=1
    )

    @model_validator(mode="after")
    def _check(self):
        if self.reward == "mean_likelihood":
            require(self.samples >= 2, "samples", self.samples, "2 or more with reward=mean_likelihood")
        odd = self.widths and all(width >= 1 and width % 2 for width in self.widths)
        require(odd, "widths", self.widths, "odd whole numbers")
        if self.encoder == "inception":
            require(self.units >= 4, "units", self.units, "4 or more with encoder=inception")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, in the order of their logits."""
        return TASKS[self.task].labels

    @property
    def reads_pairs(self) -> bool:
        """Whether pairs of sentences are classified."""
        return TASKS[self.task].sentences == 2

    @property
    def reads_phrases(self) -> bool:
        """Whether every phrase of a sentence's tree has a label."""
        return TASKS[self.task].phrase_labels
