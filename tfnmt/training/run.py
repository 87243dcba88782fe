"""A training run: Keras's `fit` on data that can be resumed at any batch, with checkpoints and dev scores."""

import dataclasses
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import keras
import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.training.callbacks import CheckpointCallback, DevScoringCallback
from tfnmt.training.checkpoints import Checkpoints
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.model_directory import CHECKPOINTS
from tfnmt.training.progress import Progress

logger = logging.getLogger(__name__)


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
    """Whether to go on from the newest readable checkpoint; from the beginning if there is none."""
    callbacks: Sequence[keras.callbacks.Callback] = ()
    """Further callbacks; at the end of an epoch they find the dev scores in the logs."""

    def is_over(self, progress: Progress) -> bool:
        """Whether it has had all its epochs or steps, or was stopped for not getting better."""
        c = self.configuration
        since_best = progress.epoch - progress.best_epoch_until(progress.epoch, c.selection)
        return (
            progress.epoch >= c.epochs
            or (c.steps is not None and progress.steps >= c.steps)
            or (c.patience is not None and since_best >= c.patience)
        )


def train(run: TrainingRun) -> Progress:
    """Train a run's model, to the end of the run.

    Returns:
        The progress at the end.

    Raises:
        UserError: the loss is not finite, or the disk is full (the last good checkpoint is kept); the checkpoints are
            broken, or of a run on other data.
    """
    configuration, model = run.configuration, run.model
    model.optimizer.build(model.trainable_variables)
    progress = Progress(run.batches_per_epoch)
    checkpoints = Checkpoints(run.directory / CHECKPOINTS, model, progress, configuration.keep_checkpoints)
    epoch = tf.Variable(0, dtype=tf.int64)
    checkpoint_callback = CheckpointCallback(run, progress, checkpoints, epoch)
    dev_scoring = DevScoringCallback(run, progress, checkpoint_callback)
    if run.resuming and checkpoints.restore():
        _check_resumed(run, progress)

    while not run.is_over(progress):
        left = run.batches_per_epoch - progress.batches
        if configuration.steps is not None:
            left = min(left, configuration.steps - progress.steps)
        model.fit(
            run.batches(epoch, progress.batches).take(left).apply(tf.data.experimental.assert_cardinality(left)),
            initial_epoch=progress.epoch,
            epochs=configuration.epochs,
            shuffle=False,
            # The progress bar comes first, so that it is complete before the scores are logged.
            callbacks=[keras.callbacks.ProgbarLogger(), checkpoint_callback, dev_scoring, *run.callbacks],
            verbose=1 if sys.stderr.isatty() else 2,  # a progress bar, or a line for each epoch
        )
        if not run.is_over(progress):  # that was the rest of an epoch: the next has all its batches
            checkpoints.restore()  # `fit` ends by replacing the weights by their averages, if there are any
    return progress


def _check_resumed(run, progress):
    if progress.batches_per_epoch != run.batches_per_epoch:
        raise UserError(
            f"{run.directory}: the run was started on data of {progress.batches_per_epoch:,} batches an epoch,"
            f" not {run.batches_per_epoch:,}; resume it with the same files"
        )
    done = f"{progress.epoch} epochs" + (f" and {progress.batches} batches" if progress.batches else "")
    logger.info("%s after %s", "the run is over," if run.is_over(progress) else "going on", done)
