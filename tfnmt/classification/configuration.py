"""What a classifier of sentences is made of: its configuration."""

from dataclasses import dataclass
from typing import Literal

from tfnmt.configuration import check_types, option, require
from tfnmt.data.tasks import TASKS

GIVEN_PARSES = ("spinn-pi-nt", "spinn-pi")
OWN_PARSES = ("spinn", "rl-spinn")
ENCODERS = ("bag", "gru", "lstm", "cnn", "inception", *GIVEN_PARSES, *OWN_PARSES)


@dataclass(frozen=True)
class ClassifierConfiguration:
    """Sizes and kinds of a classifier's layers. See each encoder and `MultilayerPerceptron` for the equations."""

    task: Literal[tuple(TASKS)] = option("snli", "what is classified, and as what")
    encoder: Literal[ENCODERS] = option("spinn-pi-nt", "what makes a vector of a sentence")
    vocabulary_size: int | None = option(None, "the most frequent words that are known; none: all of the training data")
    lowercase: bool = option(False, "words are lowercased before they are looked up")
    embedding_size: int = option(128, "size of a word's vector in the table; with vectors from a file, theirs counts")
    trained_embeddings: bool = option(True, "train the table of word vectors; with false it stays as it starts")
    projection: int | None = option(None, "size to which an affine map brings a word's vector before it is read")
    units: int = option(128, "size of the state: of h (and c) in a recurrence or tree, of each window's output")
    encoder_layers: int = option(1, "layers of gru, lstm and inception")
    bidirectional: bool = option(False, "gru and lstm read from both ends")
    widths: tuple[int, ...] = option((1, 3, 5), "words in the windows of cnn")
    activation: Literal["relu", "maxout"] = option("relu", "of cnn, inception and the head")
    tracker_units: int = option(64, "size of the tracker's state")
    head_units: int = option(128, "size of the hidden layers between sentence vector and classes")
    head_layers: int = option(1, "how many hidden layers; 0: logistic regression")
    batch_normalization: bool = option(False, "normalise word vectors and the head's layers over the batch")
    embedding_dropout: float = option(0.0, "part of the word vectors dropped")
    state_dropout: float = option(0.0, "part of h in gru and lstm dropped in its product with U")
    head_dropout: float = option(0.0, "part of the features and of the head's layers dropped")
    tracked_composition: bool = option(
        True, "spinn, rl-spinn: the tracker's state enters the composition, as in the paper; spinn-pi's always does"
    )
    transition_weight: float = option(1.0, "spinn alone: weight of the transitions' loss beside the classes'")
    reward: Literal["log_likelihood", "accuracy", "mean_likelihood"] = option(
        "log_likelihood",
        "rl-spinn alone: what a parse is worth; mean_likelihood: what all of a sentence's draws are worth together",
    )
    samples: int = option(2, "rl-spinn alone: parses drawn of each sentence in training")
    policy_weight: float = option(1.0, "rl-spinn alone: weight of REINFORCE beside the classes' loss")
    entropy_weight: float = option(0.01, "rl-spinn alone: weight of the entropy of the parser's choices")

    def __post_init__(self):
        check_types(self)
        for key, value in vars(self).items():
            if key.endswith(("_size", "units", "encoder_layers", "projection")):
                require(value is None or value >= 1, key, value, "a whole number from 1")
            if key.endswith("_dropout"):
                require(0 <= value < 1, key, value, "0 <= dropout < 1")
            if key.endswith("_weight"):
                require(value >= 0, key, value, "a number from 0")
        require(self.head_layers >= 0, "head_layers", self.head_layers, "a whole number from 0")
        require(self.samples >= 1, "samples", self.samples, "a whole number from 1")
        if self.reward == "mean_likelihood":
            require(self.samples >= 2, "samples", self.samples, "2 or more with reward=mean_likelihood")
        odd = self.widths and all(width >= 1 and width % 2 for width in self.widths)
        require(odd, "widths", self.widths, "odd whole numbers")
        if self.encoder == "inception":
            require(self.units >= 4, "units", self.units, "4 or more with encoder=inception")

    @property
    def labels(self):
        """The names of the classes, in the order of their scores."""
        return TASKS[self.task].labels

    @property
    def reads_pairs(self):
        """Whether what has a label is a pair of sentences."""
        return TASKS[self.task].sentences == 2

    @property
    def reads_phrases(self):
        """Whether every phrase of a sentence's tree has a label."""
        return TASKS[self.task].phrase_labels

    @property
    def needs_parses(self):
        """Whether its sentences must come with their parses, after training too."""
        return self.encoder in GIVEN_PARSES

    @property
    def parses(self):
        """Whether it parses sentences by itself."""
        return self.encoder in OWN_PARSES

    @property
    def learns_from_parses(self):
        """Whether it must be given parses in training."""
        return self.needs_parses or self.encoder == "spinn"
