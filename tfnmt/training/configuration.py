"""How a model is trained."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tfnmt.configuration import Configuration, KeyOf, require, setting_text
from tfnmt.registry import Registry

OPTIMIZERS = Registry(
    {
        "adam": "tfnmt.training.optimizers:Adam",
        "adadelta": "tfnmt.training.optimizers:Adadelta",
        "muon": "tfnmt.training.muon:Muon",
        "rmsprop": "tfnmt.training.optimizers:RMSprop",
        "sgd": "tfnmt.training.optimizers:SGD",
    }
)
"""Name -> class of a Keras optimizer."""

MAY_CHANGE = ("epochs", "steps", "patience", "checkpoint_steps", "keep_checkpoints")
"""A resumed run may have other values of these: they say how long it is and how often it is saved, not what it
computes. (With a cosine schedule, its length is part of what it computes.)"""


class TrainingConfiguration(Configuration):
    """Optimizer, schedule, length of the run, and which of its weights are kept."""

    initial: str | None = Field(None, description="directory of a trained model, with whose words and weights to begin")
    seed: int = Field(1, description="of the first weights, the dropout and the order of the data", ge=0, le=2**32 - 1)
    epochs: int = Field(30, description="passes over the training data", ge=1, le=1_000_000)
    steps: int | None = Field(
        None, description="stop after this many batches in all, within an epoch if need be", ge=1, le=10**12
    )
    optimizer: Annotated[str, KeyOf(OPTIMIZERS)] = Field("adam", description="Keras's optimizer of that name")
    learning_rate: float = Field(0.001, description="the highest learning rate", gt=0)
    momentum: float = Field(
        0.0,
        description="sgd, rmsprop: part of the last update that is repeated; the highest of its schedule",
        ge=0,
        lt=1,
    )
    nesterov: bool = Field(False, description="sgd: take the gradient from where the momentum leads")
    momentum_steps: int | None = Field(
        None,
        description="sgd: let the momentum grow from 1/2, its distance to 1 divided by 2, 3, 4 … after so many updates"
        " each; none: it is the same in all updates",
        ge=1,
        le=10**12,
    )
    schedule: Literal["constant", "inverse_square_root", "cosine", "plateau"] = Field(
        "constant",
        description="the learning rate after the warm-up; cosine: falls to 0 at the last of epochs or steps;"
        " plateau: halved when dev scores get no better",
    )
    warmup_steps: int = Field(
        0, description="updates in which the learning rate grows from 0; not with plateau", ge=0, le=10**12
    )
    plateau_patience: int = Field(
        2, description="epochs without a better dev score before plateau halves the rate", ge=1, le=1_000_000
    )
    loss_mean: Literal["words", "sentences"] = Field(
        "words", description="translators: what the loss is a mean over; sentences: the log-likelihood of the post"
    )
    label_smoothing: float = Field(0.0, description="part of each target given to all words alike", ge=0, lt=1)
    clip_norm: float | None = Field(1.0, description="the whole gradient's largest norm", gt=0)
    weight_decay: float = Field(
        0.0, description="part of every weight taken away in each update, times the learning rate", ge=0
    )
    accumulation_steps: int = Field(
        1, description="batches whose gradients are averaged into one update", ge=1, le=1_000_000
    )
    mixed_precision: bool = Field(
        False, description="translators: multiply matrices in bfloat16, and compute all else in float32"
    )
    weight_average: float | None = Field(
        None,
        description="decay of an exponential moving average of the weights, which is then what is scored and kept",
        gt=0,
        lt=1,
    )
    selection: Literal["bleu", "accuracy", "loss"] = Field(
        "bleu",
        description="the dev score by which the best weights are chosen: bleu of translators, accuracy of classifiers",
    )
    patience: int | None = Field(
        None, description="stop after this many epochs without a better dev score", ge=1, le=1_000_000
    )
    checkpoint_steps: int = Field(
        500, description="batches between checkpoints; there is one after each epoch too", ge=1, le=10**12
    )
    keep_checkpoints: int = Field(
        3, description="newest checkpoints kept; two at least, in case one breaks", ge=2, le=10_000
    )

    def without_effect(self) -> dict[str, str]:
        """See `Configuration.without_effect`."""
        return {} if self.schedule == "plateau" else {"plateau_patience": f"schedule={self.schedule}"}

    def total_batches(self, batches_per_epoch: int) -> int:
        """Batches of a run that nothing stops early."""
        batches = self.epochs * batches_per_epoch
        return batches if self.steps is None else min(batches, self.steps)

    def total_updates(self, batches_per_epoch: int) -> int:
        """Updates of the weights in a run that nothing stops early: over so many a cosine schedule falls to 0.

        Raises:
            UserError: there is none.
        """
        batches = self.total_batches(batches_per_epoch)
        allowed = f"at most {batches:,}, the batches of the run"
        require(batches >= self.accumulation_steps, "accumulation_steps", self.accumulation_steps, allowed)
        return batches // self.accumulation_steps

    @model_validator(mode="after")
    def _check(self):
        if self.schedule == "plateau":
            require(self.warmup_steps == 0, "warmup_steps", self.warmup_steps, "0 with schedule=plateau")
        has_momentum = self.optimizer in ("sgd", "rmsprop")
        require(self.momentum == 0 or has_momentum, "momentum", self.momentum, f"0 with optimizer={self.optimizer}")
        for key in ("nesterov", "momentum_steps"):
            value = getattr(self, key)
            is_used = self.optimizer == "sgd" and self.momentum > 0
            off = setting_text(type(self).model_fields[key].default)
            require(not value or is_used, key, value, f"{off} without optimizer=sgd and a momentum")
        grows = self.momentum_steps is None or self.momentum > 0.5
        require(grows, "momentum_steps", self.momentum_steps, "none unless momentum is over 0.5, from which it grows")
        return self
