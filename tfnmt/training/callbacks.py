"""What happens between the batches and epochs of `fit`: keeping place, scoring, choosing, saving, stopping."""

import contextlib
import math
import sys
import time

import keras

from tfnmt.errors import UserError


class KeepPlace(keras.callbacks.Callback):
    """Counts batches and epochs, tells the data which epoch it is, saves checkpoints, stops at the last step.

    Args:
        progress, checkpoints: the run's `Progress` and `Checkpoints`.
        epoch: the int64 variable that the data reads when an epoch starts.
        checkpoint_steps: batches between checkpoints.
        last_step: stop after so many batches in all; None for no limit.
    """

    def __init__(self, progress, checkpoints, epoch, checkpoint_steps, last_step=None):
        super().__init__()
        self.progress, self.checkpoints = progress, checkpoints
        self.epoch, self.checkpoint_steps, self.last_step = epoch, checkpoint_steps, last_step

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch.assign(epoch)
        self.since = time.monotonic()
        self.taken_up = self.progress.batches > 0
        self.metrics_before = self.progress.metrics

    def on_train_batch_end(self, batch, logs=None):
        if not math.isfinite(logs["loss"]):
            raise self._not_a_number(self.progress.steps + 1)
        # All metrics are sums. Their variables exist from the first batch on, and `fit` has set them to 0 before it.
        for variable, value in zip(self.model.metrics_variables, self.metrics_before, strict=False):
            variable.assign_add(value)
        self.metrics_before = []
        progress = self.progress
        progress.batches += 1
        progress.steps += 1
        self.count_seconds()
        if self.last_step is not None and progress.steps >= self.last_step:
            self.model.stop_training = True
        elif progress.batches < progress.batches_per_epoch and progress.steps % self.checkpoint_steps == 0:
            self.keep_metrics()
            self.save()

    def finish_epoch(self):
        """The epoch's batches are done and its scores known: on to the next."""
        self.progress.epoch += 1
        self.progress.batches = 0
        self.progress.metrics = []
        self.save()
        if self.taken_up:  # its first batches were left out of the data: the next epoch needs all
            self.model.stop_training = True

    def count_seconds(self):
        """Add the time since the last call to the run's."""
        now = time.monotonic()
        self.progress.seconds += now - self.since
        self.since = now

    def save(self):
        """Save a checkpoint, unless the weights are no numbers any more."""
        self.check_weights()
        self.checkpoints.save()

    def keep_metrics(self):
        """Keep the figures of the epoch so far, before a checkpoint or before `evaluate` uses the same metrics."""
        self.progress.metrics = [variable.numpy().tolist() for variable in self.model.metrics_variables]

    def check_weights(self):
        """Raise `UserError` if the weights are no numbers any more."""
        if not self.checkpoints.all_finite():
            raise self._not_a_number(self.progress.steps)

    def _not_a_number(self, steps):
        kept = self.checkpoints.newest()
        where = f"the last good checkpoint is kept: {kept}" if kept else "there is no checkpoint yet"
        return UserError(
            f"the loss is not a number after {steps} steps; {where};"
            " train anew, in another directory, with a smaller learning_rate or clip_norm"
        )


class ScoreEpoch(keras.callbacks.Callback):
    """At the end of an epoch: scores on dev data, keeps the best weights, halves the rate, stops, writes history.csv.

    Args:
        progress: the run's `Progress`.
        keep_place: the run's `KeepPlace`.
        dev_scores: `dev_scores() -> dictionary` of the figures of the model as it is, "dev_loss" and perhaps others.
        save_best: `save_best()` keeps the model's present weights.
        history_path: the CSV file.
        configuration: the `TrainingConfiguration`.
    """

    def __init__(self, progress, keep_place, dev_scores, save_best, history_path, configuration):
        super().__init__()
        self.progress, self.keep_place = progress, keep_place
        self.dev_scores, self.save_best = dev_scores, save_best
        self.history_path, self.configuration = history_path, configuration

    def on_epoch_end(self, epoch, logs=None):
        if self.progress.batches < self.progress.batches_per_epoch:  # stopped at the last step; a resumed run may go on
            self.keep_place.keep_metrics()
            self.score(logs)
            self.keep_place.save()
        else:
            self.score(logs)
            self.halve_or_stop()
            self.keep_place.finish_epoch()

    def score(self, logs):
        """Score the model as it is now, keep it if it is the best; `logs` are the epoch's figures on training data."""
        progress, epoch = self.progress, self.progress.epoch + 1
        rate = float(self.model.optimizer.learning_rate)
        self.keep_place.check_weights()
        with averaged_weights(self.model):
            scores = self.dev_scores()
            measure = self.configuration.selection
            score = -scores["dev_loss"] if measure == "loss" else scores[f"dev_{measure}"]
            is_best = progress.best_score is None or score > progress.best_score
            if is_best:
                self.save_best()
                progress.best_score, progress.best_epoch = score, epoch
        self.keep_place.count_seconds()
        figures = {
            "epoch": epoch,
            "steps": progress.steps,
            "seconds": round(progress.seconds, 1),
            "learning_rate": rate,
        }
        figures |= {name: float(value) for name, value in (logs | scores).items()}
        progress.history = [row for row in progress.history if row["epoch"] != epoch] + [figures]
        progress.write_history(self.history_path)
        best = "the best so far" if is_best else f"best: epoch {progress.best_epoch}"
        logs.update(scores)  # for the callbacks after this one
        print(" - ".join(f"{name}: {value:.4f}" for name, value in scores.items()) + f" ({best})", file=sys.stderr)

    def halve_or_stop(self):
        """Halve the learning rate, or stop, where there has been no better score for long."""
        progress, configuration, epoch = self.progress, self.configuration, self.progress.epoch + 1
        since_best = epoch - progress.best_epoch
        since_halved = epoch - max(progress.best_epoch, progress.halved_at)
        if configuration.schedule == "plateau" and since_halved >= configuration.plateau_patience:
            self.model.optimizer.learning_rate.assign(self.model.optimizer.learning_rate / 2)
            progress.halved_at = epoch
        if configuration.patience is not None and since_best >= configuration.patience:
            print(f"no better for {since_best} epochs: stopping", file=sys.stderr)
            self.model.stop_training = True


@contextlib.contextmanager
def averaged_weights(model):
    """Within it the model has the moving averages of its weights (Polyak & Juditsky 1992), if the optimizer has any."""
    if not model.optimizer.use_ema:
        yield
        return
    trained = [variable.numpy() for variable in model.trainable_variables]
    # Keras has no public name for the averages; its own callback SwapEMAWeights uses this one too.
    averages = model.optimizer._model_variables_moving_average
    for variable, average in zip(model.trainable_variables, averages, strict=True):
        variable.assign(average)
    try:
        yield
    finally:
        for variable, value in zip(model.trainable_variables, trained, strict=True):
            variable.assign(value)
