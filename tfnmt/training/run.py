"""A training run: Keras's `fit` on data that can be taken up anywhere, with checkpoints, dev scores and resumption."""

import sys
from pathlib import Path

import tensorflow as tf

from tfnmt.training.callbacks import KeepPlace, ScoreEpoch
from tfnmt.training.checkpoints import Checkpoints
from tfnmt.training.progress import Progress


def train(model, batches, batches_per_epoch, dev_scores, save_best, directory, configuration, resume=False):
    """Train a compiled model.

    Args:
        model: a compiled Keras model whose weights exist.
        batches: `batches(epoch, skip) -> tf.data.Dataset`, one epoch in the order that `epoch` decides (an int64
            variable, read anew each time iteration starts), without its first `skip` batches (an integer).
        batches_per_epoch: how many there are in every epoch.
        dev_scores: `dev_scores() -> dictionary` of figures, "dev_loss" and, for selection=bleu, "dev_bleu" among them.
        save_best: called when the present weights have the best dev score.
        directory: where checkpoints/ and history.csv go.
        configuration: a `TrainingConfiguration`.
        resume: go on from the newest checkpoint that can be read, from the beginning if there is none.

    Returns:
        The `Progress` at the end.

    Raises:
        UserError: the loss is no number any more, or the disk is full; the last good checkpoint is kept.
    """
    directory = Path(directory)
    model.optimizer.build(model.trainable_variables)
    progress = Progress()
    checkpoints = Checkpoints(directory / "checkpoints", model, progress, configuration.keep_checkpoints)
    epoch = tf.Variable(0, dtype=tf.int64)
    keep_place = KeepPlace(progress, checkpoints, epoch, configuration.checkpoint_steps, configuration.steps)
    score_epoch = ScoreEpoch(progress, keep_place, dev_scores, save_best, directory / "history.csv", configuration)

    def fit(last_epoch):
        left = batches_per_epoch - progress.batches
        data = batches(epoch, progress.batches).apply(tf.data.experimental.assert_cardinality(left))
        callbacks = [keep_place, score_epoch]
        verbose = 1 if sys.stderr.isatty() else 2  # a progress bar, or a line an epoch
        model.fit(
            data, verbose=verbose, initial_epoch=progress.epoch, epochs=last_epoch, callbacks=callbacks, shuffle=False
        )

    if resume and checkpoints.restore():
        print(f"resuming: {progress.epoch} epochs and {progress.batches} batches are done", file=sys.stderr)
        if _is_over(progress, configuration):
            return progress
        if progress.batches >= batches_per_epoch:  # it ended between an epoch's last batch and its scores
            score_epoch.set_model(model)
            score_epoch.score_and_finish({})
        elif progress.batches:
            fit(progress.epoch + 1)
            checkpoints.restore()  # `fit` ends with the averages in place of the weights, if there are any
    if not _is_over(progress, configuration):
        fit(configuration.epochs)
    return progress


def _is_over(progress, configuration):
    """Whether the run has had all its epochs or steps, or was stopped for getting no better."""
    return (
        progress.epoch >= configuration.epochs
        or (configuration.steps is not None and progress.steps >= configuration.steps)
        or (configuration.patience is not None and progress.epoch - progress.best_epoch >= configuration.patience)
    )
