"""The trainer: Keras's `fit` on data that can be resumed at any batch, with checkpoints and dev scores."""

import contextlib
import logging

import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.training.callbacks import CheckpointCallback, DevScoringCallback, StopCallback
from tfnmt.training.checkpoints import Checkpoints
from tfnmt.training.model_directory import CHECKPOINTS, WEIGHTS, weights_problem
from tfnmt.training.progress import Progress
from tfnmt.training.run import TrainingRun
from tfnmt.training.step_log import StepLog

logger = logging.getLogger(__name__)


def train(run: TrainingRun) -> Progress:
    """Train a run's model, to the end of the run, or until one of its callbacks sets `model.stop_training`.

    Returns:
        The progress at the end.

    Raises:
        UserError: the disk has no room for checkpoints; the loss is not finite, the disk is full, or a file of the
            run has changed (the last good checkpoint is kept); the checkpoints are broken, or of a run on other data.
    """
    configuration, model = run.configuration, run.model
    with run.replicas.scope():
        model.optimizer.build(model.trainable_variables)
    progress = Progress(run.batches_per_epoch)
    checkpoints = Checkpoints(run.directory / CHECKPOINTS, model, progress, configuration.keep_checkpoints)
    epoch = tf.Variable(0, dtype=tf.int64)
    checkpoint_callback = CheckpointCallback(run, progress, checkpoints, epoch)
    dev_scoring = DevScoringCallback(run, progress, checkpoint_callback)
    run.replicas.from_chief(lambda: _begin(run, checkpoints, progress))
    _share(run, checkpoints, progress)

    scored = progress.history[-1]["steps"] if progress.history else 0
    if run.is_over(progress) and scored < progress.steps:  # resumed with `steps` that were done already
        dev_scoring.set_model(model)
        dev_scoring.score({})
        checkpoint_callback.save()
    steps_shown = [StepLog(run, progress)] if run.replicas.is_chief else []
    stop = StopCallback(run.replicas, lambda: run.is_over(progress))
    while not run.is_over(progress):
        left = run.batches_left(progress)
        # The data of the rest of an epoch are without its first batches: the next epoch needs all, and another `fit`.
        last_epoch = progress.epoch + 1 if progress.batches else configuration.epochs
        batches = run.batches(epoch, progress.batches).take(left).apply(tf.data.experimental.assert_cardinality(left))
        with run.replicas.errors(), _changed_files_named(run):
            model.fit(
                batches if run.replicas.number == 1 else run.replicas.divide(batches, model.select_examples),
                initial_epoch=progress.epoch,
                epochs=last_epoch,
                shuffle=False,
                # What tells of an epoch's batches comes first: it has ended before the scores are logged.
                callbacks=[*steps_shown, checkpoint_callback, dev_scoring, *run.callbacks, stop],
                verbose=0,
            )
        if not run.is_over(progress):
            if model.stop_training:
                logger.info("a callback has stopped the run")
                break
            # `fit` ends by replacing the weights by their averages, if there are any.
            run.replicas.from_chief(checkpoints.restore)
            _share(run, checkpoints, progress)
    run.replicas.agree(0)  # none ends before all have trained
    return progress


@contextlib.contextmanager
def _changed_files_named(run):
    """Within the block, what TensorFlow cannot read because a file has changed is told as a `UserError`."""
    try:
        yield
    except tf.errors.OpError:
        run.check_files()
        raise


def _begin(run, checkpoints, progress):
    """Restore the newest checkpoint of a run that goes on, or else save the first."""
    checkpoints.require_space()
    if run.resuming:
        _restore(run, checkpoints, progress)
    else:
        checkpoints.save()  # so that the run can go on from here without the files of its first weights
        logger.info("%s begin", run.length())
        _warn_of_schedule(run.configuration, run.batches_per_epoch)


def _warn_of_schedule(configuration, batches_per_epoch):
    """Say so where the learning rate does not become what its schedule is about."""
    c = configuration
    updates, rising = c.total_updates(batches_per_epoch), c.warmup_steps
    if c.schedule == "plateau" and c.patience is not None and c.patience <= c.plateau_patience:
        logger.warning(
            "the learning rate is never halved: patience=%d stops the run before plateau_patience=%d could halve it",
            c.patience,
            c.plateau_patience,
        )
    if c.steps is None and updates < 2 * rising:
        logger.warning(
            "most of the %s updates are the warm-up, in which the learning rate rises (warmup_steps=%s); with more"
            " --epochs the model may become better",
            f"{updates:,}",
            f"{rising:,}",
        )


def _share(run, checkpoints, progress):
    """Give every process what the chief's checkpoint holds, and every replica random numbers of its own."""
    progress.restore(run.replicas.from_chief(progress.to_text))
    run.replicas.share(checkpoints.variables)
    run.replicas.separate_seeds(run.model)


def _restore(run, checkpoints, progress):
    if not checkpoints.restore():
        raise UserError(f"{checkpoints.directory}: there is no checkpoint to go on from")
    if progress.batches_per_epoch != run.batches_per_epoch:
        raise UserError(
            f"{run.directory}: the run was started on data of {progress.batches_per_epoch:,} batches an epoch,"
            f" not {run.batches_per_epoch:,}; resume it with the same files"
        )
    if progress.best_score is not None and (problem := weights_problem(run.directory)):
        path = run.directory / WEIGHTS
        if run.is_over(progress):
            raise UserError(
                f"{path}: {problem}, and the run is over: tfnmt average-checkpoints --model {run.directory} --last 1"
                " --output ANOTHER makes a model of its last checkpoint"
            )
        logger.warning("%s %s: the best weights from here on are kept", path, problem)
        progress.best_score = None
    done = f"{progress.epoch} epoch{'' if progress.epoch == 1 else 's'}" + (
        f" and {progress.batches} batches" if progress.batches else ""
    )
    logger.info("%s after %s", "the run is over," if run.is_over(progress) else "going on", done)
