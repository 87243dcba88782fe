"""How far an epoch is, in the log or on a terminal."""

from typing import Any

import keras

from tfnmt.data.progress import ProgressDisplay
from tfnmt.training.progress import Progress
from tfnmt.training.run import TrainingRun


class StepLog(keras.callbacks.Callback):
    """Tells how far an epoch is, by a `ProgressDisplay`. It stands before the callback that counts the batches.

    Args:
        run: the run.
        progress: its progress.
    """

    def __init__(self, run: TrainingRun, progress: Progress):
        super().__init__()
        self.run, self.progress = run, progress

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        self.display: ProgressDisplay | None = None

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        progress = self.progress
        if self.display is None:  # after the first batch, which may have taken a minute to trace
            doing = f"epoch {progress.epoch + 1} of {self.run.epochs}"
            total = progress.batches + self.run.batches_left(progress)
            self.display = ProgressDisplay(doing, "batches", total, progress.batches + 1)
        else:
            self.display.advance(1, f"; {figures_text(logs or {})}")

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        if self.display:
            self.display.end()


def figures_text(figures: dict[str, float]) -> str:
    """Figures as Keras's progress bar shows them: "loss: 5.7016 - perplexity: 299.7464"."""
    return " - ".join(f"{name}: {value:.4f}" for name, value in figures.items())
