"""How a model is trained."""

from dataclasses import dataclass
from typing import Literal

from tfnmt.configuration import check_types, option, require


@dataclass(frozen=True)
class TrainingConfiguration:
    """Optimizer, schedule, length of the run, and which of its weights are kept."""

    initial: str | None = option(None, "directory of a trained model, with whose words and weights to begin")
    seed: int = option(1, "of the first weights, the dropout and the order of the data")
    epochs: int = option(30, "passes over the training data")
    steps: int | None = option(None, "stop after so many batches in all, within an epoch if need be")
    optimizer: Literal["adam", "adadelta", "rmsprop", "sgd"] = option("adam", "Keras's optimizer of that name")
    learning_rate: float = option(0.001, "the highest learning rate")
    schedule: Literal["constant", "inverse_square_root", "cosine", "plateau"] = option(
        "constant", "the learning rate after the warm-up; plateau: halved when dev scores get no better"
    )
    warmup_steps: int = option(0, "updates in which the learning rate grows from 0; not with plateau")
    plateau_patience: int = option(2, "epochs without a better dev score before plateau halves the rate")
    label_smoothing: float = option(0.0, "part of each target given to all words alike")
    clip_norm: float | None = option(1.0, "the whole gradient's largest norm")
    weight_decay: float = option(0.0, "part of every weight taken away in each update, times the learning rate")
    accumulation_steps: int = option(1, "batches whose gradients are averaged into one update")
    parts: int = option(1, "parts of a batch that are read side by side, each on a processor of its own")
    mixed_precision: bool = option(False, "compute in bfloat16, keep weights in float32")
    weight_average: float | None = option(
        None, "decay of an exponential moving average of the weights, which is then what is scored and kept"
    )
    selection: Literal["bleu", "accuracy", "loss"] = option(
        "bleu", "the dev score by which the best weights are chosen: bleu of translators, accuracy of classifiers"
    )
    patience: int | None = option(None, "stop after so many epochs without a better dev score")
    checkpoint_steps: int = option(500, "batches between checkpoints; there is one after each epoch too")
    keep_checkpoints: int = option(3, "newest checkpoints kept")

    def __post_init__(self):
        check_types(self)
        for key in (
            "epochs",
            "steps",
            "plateau_patience",
            "accumulation_steps",
            "parts",
            "patience",
            "checkpoint_steps",
        ):
            value = getattr(self, key)
            require(value is None or value >= 1, key, value, "a whole number from 1")
        require(0 <= self.seed < 2**32, "seed", self.seed, "a whole number from 0 to 2^32 - 1")
        require(
            self.keep_checkpoints >= 2,
            "keep_checkpoints",
            self.keep_checkpoints,
            "2 or more, in case one breaks",
        )
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "a number over 0")
        require(self.warmup_steps >= 0, "warmup_steps", self.warmup_steps, "a whole number from 0")
        require(self.weight_decay >= 0, "weight_decay", self.weight_decay, "a number from 0")
        require(0 <= self.label_smoothing < 1, "label_smoothing", self.label_smoothing, "0 <= label_smoothing < 1")
        require(
            self.clip_norm is None or self.clip_norm > 0,
            "clip_norm",
            self.clip_norm,
            "a number over 0, or none",
        )
        average = self.weight_average
        require(average is None or 0 < average < 1, "weight_average", average, "between 0 and 1, or none")
        if self.schedule == "plateau":
            require(self.warmup_steps == 0, "warmup_steps", self.warmup_steps, "0 with schedule=plateau")
