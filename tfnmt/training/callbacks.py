"""What happens between the batches and epochs of `fit`: checkpoints, dev scores, the best weights, early stopping."""

import logging
import math
import time
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.training.checkpoints import Checkpoints
from tfnmt.training.keras_internals import averaged_weights
from tfnmt.training.model_directory import HISTORY, save_weights
from tfnmt.training.progress import Progress
from tfnmt.training.replicas import Replicas
from tfnmt.training.run import TrainingRun
from tfnmt.training.step_log import figures_text

logger = logging.getLogger(__name__)


class CheckpointCallback(keras.callbacks.Callback):
    """Counts batches and epochs, sets the epoch that the data read, saves checkpoints, stops at the last step.

    Args:
        run: the run.
        progress: its progress.
        checkpoints: its checkpoints.
        epoch: an int64 variable that the data read when an epoch starts.
    """

    def __init__(self, run: TrainingRun, progress: Progress, checkpoints: Checkpoints, epoch: tf.Variable):
        super().__init__()
        self.run, self.configuration, self.progress = run, run.configuration, progress
        self.checkpoints, self.epoch = checkpoints, epoch
        self.since = time.monotonic()

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        self.epoch.assign(epoch)
        self.since = time.monotonic()
        self.metrics_before = self.progress.metrics

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        if not math.isfinite(logs["loss"]):
            raise self._not_finite(self.progress.steps + 1)
        # All metrics are sums. Their variables exist from the first batch on, and `fit` has set them to 0 before it.
        for variable, value in zip(self.model.metrics_variables, self.metrics_before, strict=False):
            variable.assign(variable.value + value)
        self.metrics_before = []
        self.progress.batches += 1
        self.progress.steps += 1
        self.count_seconds()
        self.run.check_directory()
        self.run.check_files()
        left, signals = self.run.batches_left(self.progress), self.run.signals
        # Not written to `received` if it is 0: a signal that comes while the processes agree is for the next batch.
        agreed = self.run.replicas.agree(signals.received or self.run.replicas.outside_signal())
        if left == 0:  # there is a checkpoint after the dev scores
            self.model.stop_training |= self.progress.steps == self.configuration.steps
        else:
            self._save_if_due(is_last=left == 1 or bool(agreed))
        if agreed:
            signals.received = agreed
            signals.end()

    def _save_if_due(self, is_last: bool) -> None:
        """Save a checkpoint every so many batches, before a signal ends the run, and before an epoch's last batch: so
        little is lost if the run is ended amid the dev scores."""
        is_due = self.progress.steps % self.configuration.checkpoint_steps == 0
        if is_due or is_last:
            self.save_metrics()
            self.save(passing=not is_due)
        else:
            self.run.signals.deferred = True

    def finish_epoch(self) -> None:
        """Go on to the next epoch, after the batches and scores of this one."""
        self.progress.epoch += 1
        self.progress.batches = 0
        self.progress.metrics = []
        self.save()

    def count_seconds(self) -> None:
        """Add the time since the last call to the run's."""
        now = time.monotonic()
        self.progress.seconds += now - self.since
        self.since = now

    def save(self, passing: bool = False) -> None:
        """Save a checkpoint, unless a weight is not finite; see `Checkpoints.save`. Of several processes, one saves."""
        self.check_weights()
        if self.run.replicas.is_chief:
            self.run.check_directory()
            self.checkpoints.save(passing)
        # Several processes end after the same batch, so that none loses another one.
        self.run.signals.deferred = self.run.replicas.processes > 1

    def save_metrics(self) -> None:
        """Copy the epoch's metrics so far, before a checkpoint or before `evaluate` resets them."""
        self.progress.metrics = [variable.numpy().tolist() for variable in self.model.metrics_variables]

    def check_weights(self) -> None:
        """Raise `UserError` if a weight is not finite."""
        if not self.checkpoints.all_finite():
            raise self._not_finite(self.progress.steps)

    def _not_finite(self, steps):
        return UserError(
            f"the loss is not a number after {steps} steps; the last good checkpoint is kept:"
            f" {self.checkpoints.newest()}; train anew, in another directory, with a smaller learning_rate or clip_norm"
        )


class DevScoringCallback(keras.callbacks.Callback):
    """At the end of an epoch: scores on dev data, saves the best weights, halves the learning rate, stops early, writes
    history.csv.

    Args:
        run: the run.
        progress: its progress.
        checkpoint_callback: saves a checkpoint after the scores.
    """

    def __init__(self, run: TrainingRun, progress: Progress, checkpoint_callback: CheckpointCallback):
        super().__init__()
        self.run, self.progress, self.checkpoint_callback = run, progress, checkpoint_callback

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Keras's; adds the dev scores to `logs`, for the callbacks after this one."""
        if self.progress.batches < self.progress.batches_per_epoch:  # stopped at the last step; may be resumed
            self.checkpoint_callback.save_metrics()
            self.score(logs)
            self.checkpoint_callback.save()
        else:
            self.score(logs)
            self._halve_or_stop()
            self.checkpoint_callback.finish_epoch()

    def score(self, logs: dict[str, Any]) -> None:
        """Score the model as it is now and save its weights if they are the best.

        Args:
            logs: the epoch's figures on training data; the dev scores are added.
        """
        progress, measure = self.progress, self.run.configuration.selection
        epoch = progress.epoch + 1
        learning_rate = float(self.model.optimizer.learning_rate)
        self.checkpoint_callback.check_weights()
        with averaged_weights(self.model):
            scores = self.run.replicas.from_chief(self.run.dev_scores)
            score = -scores["dev_loss"] if measure == "loss" else scores[f"dev_{measure}"]
            best_before = progress.best_score
            is_best = best_before is None or score > best_before or math.isnan(best_before)
            if is_best:
                self.run.replicas.from_chief(self._save_weights)
                progress.best_score, progress.best_epoch = score, epoch
        self.checkpoint_callback.count_seconds()
        figures = {"epoch": epoch, "steps": progress.steps, "seconds": round(progress.seconds, 1)}
        figures |= {"learning_rate": learning_rate}
        figures |= {name: float(value) for name, value in (logs | scores).items()}
        progress.history = [row for row in progress.history if row["epoch"] != epoch] + [figures]
        if self.run.replicas.is_chief:
            progress.write_history(self.run.directory / HISTORY)
        logs.update(scores)
        best = "the best so far" if is_best else f"best: epoch {progress.best_epoch}"
        logger.info("epoch %d of %d: %s (%s)", epoch, self.run.epochs, figures_text(logs), best)

    def _save_weights(self):
        self.run.check_directory()
        save_weights(self.model, self.run.directory)

    def _halve_or_stop(self):
        """Halve the learning rate, or stop, after too many epochs without a better score."""
        progress, configuration, epoch = self.progress, self.run.configuration, self.progress.epoch + 1
        best_epoch = progress.best_epoch_until(epoch, configuration.selection)
        since_best, since_halved = epoch - best_epoch, epoch - max(best_epoch, progress.halved_at)
        if configuration.schedule == "plateau" and since_halved >= configuration.plateau_patience:
            self.model.optimizer.learning_rate.assign(self.model.optimizer.learning_rate / 2)
            progress.halved_at = epoch
        if configuration.patience is not None and since_best >= configuration.patience:
            logger.info("no better for %d epochs: stopping", since_best)
            self.model.stop_training = True


class StopCallback(keras.callbacks.Callback):
    """Comes last: where one of the chief's own callbacks has stopped `fit`, every process stops. Of several processes,
    none does so within an epoch, for the others would wait for its part of the next batch; but at the run's last step
    all do.

    Args:
        replicas: the run's.
        is_over: whether the run has had all its steps; equal in all processes.
    """

    def __init__(self, replicas: Replicas, is_over: Callable[[], bool]):
        super().__init__()
        self.replicas, self.is_over, self.is_to_stop = replicas, is_over, False

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        if self.replicas.processes > 1 and self.model.stop_training and not self.is_over():
            self.model.stop_training, self.is_to_stop = False, True

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        self.model.stop_training = bool(self.replicas.agree(int(self.model.stop_training or self.is_to_stop)))
