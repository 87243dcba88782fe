"""Lines in the log within an epoch, for runs without a terminal that shows Keras's progress bar."""

import logging
import time
from typing import Any

import keras

from tfnmt.data.progress import duration
from tfnmt.training.progress import Progress

logger = logging.getLogger(__name__)

FIRST_AFTER, SECONDS_BETWEEN = 10, 60
"""Seconds of an epoch until its first line, and between lines."""


class StepLog(keras.callbacks.Callback):
    """Logs how far an epoch is, about every minute. It stands before the callback that counts the batches.

    Args:
        progress: the run's.
    """

    def __init__(self, progress: Progress):
        super().__init__()
        self.progress = progress

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Keras's."""
        self.began: float | None = None

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Keras's."""
        now, done, total = time.monotonic(), self.progress.batches + 1, self.progress.batches_per_epoch
        if self.began is None:  # the first batch, which may have taken a minute to trace
            self.began, self.first, self.due = now, done, float(FIRST_AFTER)
        seconds = now - self.began
        if seconds < self.due:
            return
        self.due = seconds + SECONDS_BETWEEN
        rate = (done - self.first) / seconds
        logger.info(
            "epoch %d, batch %s of %s: %s; %.3g batches a second, %s left",
            *(self.progress.epoch + 1, f"{done:,}", f"{total:,}", figures_text(logs or {})),
            *(rate, duration((total - done) / rate)),
        )


def figures_text(figures: dict[str, float]) -> str:
    """Figures as Keras's progress bar shows them: "loss: 5.7016 - perplexity: 299.7464"."""
    return " - ".join(f"{name}: {value:.4f}" for name, value in figures.items())
