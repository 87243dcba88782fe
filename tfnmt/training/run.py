"""What a training run is made of."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import keras
import tensorflow as tf

from tfnmt.signals import StopSignals
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.progress import Progress
from tfnmt.training.replicas import Replicas


@dataclasses.dataclass(frozen=True)
class TrainingRun:
    """What is trained, on what, and where it is saved."""

    directory: Path
    """The model directory, for checkpoints/, history.csv and the best weights."""
    configuration: TrainingConfiguration
    model: keras.Model
    """A compiled model whose weights exist."""
    batches: Callable[[tf.Variable, int], tf.data.Dataset]
    """`batches(epoch, skip)`: one epoch in the order that `epoch` decides, an int64 variable which is read anew each
    time iteration starts, without its first `skip` batches."""
    batches_per_epoch: int
    """In every epoch."""
    dev_scores: Callable[[], dict[str, float]]
    """Scores of the model's present weights on dev data: "dev_loss" and that of `configuration.selection`, such as
    "dev_bleu", among others."""
    resuming: bool = False
    """Whether to go on from the newest readable checkpoint."""
    replicas: Replicas = dataclasses.field(default_factory=Replicas)
    """Among which each batch is divided. Their chief alone writes, scores and has callbacks."""
    signals: StopSignals = dataclasses.field(default_factory=StopSignals)
    """Where it looks, after every batch, for a signal that is to end it."""
    check_directory: Callable[[], None] = lambda: None
    """Raises `UserError` where the directory is not the run's any more."""
    check_files: Callable[[], None] = lambda: None
    """Raises `UserError` where a file that the run reads has been changed; called after every batch."""
    callbacks: Sequence[keras.callbacks.Callback] = ()
    """Further callbacks; at the end of an epoch they find the dev scores in the logs. One that sets
    `model.stop_training` ends the run; with several processes, at the end of the epoch."""

    @property
    def epochs(self) -> int:
        """How many epochs it has at most; with `steps` in the configuration, the last may be a part of one."""
        c = self.configuration
        return c.epochs if c.steps is None else min(c.epochs, -(-c.steps // self.batches_per_epoch))

    def batches_left(self, progress: Progress) -> int:
        """Batches to the end of the epoch, or of the run."""
        left, last_step = self.batches_per_epoch - progress.batches, self.configuration.steps
        return left if last_step is None else min(left, last_step - progress.steps)

    def length(self) -> str:
        """How long it is at most, in words: "30 epochs of 465 batches", "2 epochs of 465 batches, and 70 batches"."""
        whole, rest = self.epochs, 0
        if self.configuration.steps is not None and self.configuration.steps < self.epochs * self.batches_per_epoch:
            whole, rest = divmod(self.configuration.steps, self.batches_per_epoch)
        batches = f"{self.batches_per_epoch:,} batch{'es' if self.batches_per_epoch > 1 else ''}"
        if not whole:
            return f"{rest:,} of the first epoch's {batches}"
        return f"{whole} epoch{'s' if whole > 1 else ''} of {batches}" + (f", and {rest:,} batches" if rest else "")

    def is_over(self, progress: Progress) -> bool:
        """Whether it has had all its epochs or steps, or was stopped for not getting better."""
        c = self.configuration
        since_best = progress.epoch - progress.best_epoch_until(progress.epoch, c.selection)
        return (
            progress.epoch >= c.epochs
            or (c.steps is not None and progress.steps >= c.steps)
            or (c.patience is not None and since_best >= c.patience)
        )
