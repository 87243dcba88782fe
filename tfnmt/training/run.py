"""A training run: Keras's `fit` on data that can be taken up anywhere, with checkpoints, dev scores and resumption."""

import sys
from pathlib import Path

import keras
import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.training.callbacks import KeepPlace, ScoreEpoch
from tfnmt.training.checkpoints import Checkpoints
from tfnmt.training.progress import Progress

CHECKPOINTS = "checkpoints"
HISTORY = "history.csv"


def train(
    model, batches, batches_per_epoch, dev_scores, save_best, directory, configuration, resume=False, callbacks=()
):
    """Train a compiled model.

    Args:
        model: a compiled Keras model whose weights exist.
        batches: `batches(epoch, skip) -> tf.data.Dataset`, one epoch in the order that `epoch` decides (an int64
            variable, read anew each time iteration starts), without its first `skip` batches (an integer).
        batches_per_epoch: how many there are in every epoch.
        dev_scores: `dev_scores() -> dictionary` of figures, "dev_loss" and that which selection names, such as
            "dev_bleu", among them.
        save_best: called when the present weights have the best dev score.
        directory: where checkpoints/ and history.csv go.
        configuration: a `TrainingConfiguration`.
        resume: go on from the newest checkpoint that can be read, from the beginning if there is none.
        callbacks: further Keras callbacks; they find the dev scores in the logs of an epoch's end.

    Returns:
        The `Progress` at the end.

    Raises:
        UserError: the loss is no number any more, or the disk is full (the last good checkpoint is kept); the
            checkpoints are broken, or of a run on other data.
    """
    directory = Path(directory)
    model.optimizer.build(model.trainable_variables)
    progress = Progress(batches_per_epoch)
    checkpoints = Checkpoints(directory / CHECKPOINTS, model, progress, configuration.keep_checkpoints)
    epoch = tf.Variable(0, dtype=tf.int64)
    keep_place = KeepPlace(progress, checkpoints, epoch, configuration.checkpoint_steps, configuration.steps)
    score_epoch = ScoreEpoch(progress, keep_place, dev_scores, save_best, directory / HISTORY, configuration)
    if resume and checkpoints.restore():
        if progress.batches_per_epoch != batches_per_epoch:
            raise UserError(
                f"{directory}: the run was started on data of {progress.batches_per_epoch:,} batches an epoch,"
                f" not {batches_per_epoch:,}; resume it with the same files"
            )
        done = f"{progress.epoch} epochs" + (f" and {progress.batches} batches" if progress.batches else "")
        over = _is_over(progress, configuration)
        print(f"{'the run is over,' if over else 'going on'} after {done}", file=sys.stderr)

    while not _is_over(progress, configuration):
        left = batches_per_epoch - progress.batches
        if configuration.steps is not None:
            left = min(left, configuration.steps - progress.steps)
        model.fit(
            batches(epoch, progress.batches).take(left).apply(tf.data.experimental.assert_cardinality(left)),
            initial_epoch=progress.epoch,
            epochs=configuration.epochs,
            shuffle=False,
            # The progress bar comes first, so that it is complete before the scores are printed.
            callbacks=[keras.callbacks.ProgbarLogger(), keep_place, score_epoch, *callbacks],
            verbose=1 if sys.stderr.isatty() else 2,  # a progress bar, or a line an epoch
        )
        if not _is_over(progress, configuration):  # that was the rest of an epoch: the next has all its batches
            checkpoints.restore()  # `fit` ends with the averages in place of the weights, if there are any
    return progress


def _is_over(progress, configuration):
    """Whether the run has had all its epochs or steps, or was stopped for getting no better."""
    return (
        progress.epoch >= configuration.epochs
        or (configuration.steps is not None and progress.steps >= configuration.steps)
        or (configuration.patience is not None and progress.epoch - progress.best_epoch >= configuration.patience)
    )
