"""What it costs to write for TensorBoard: the share of a training run's time that its callbacks take."""

import tempfile
import time
from typing import Any

import keras

from tfnmt.data.parallel import ParallelFiles
from tfnmt.inspection.callbacks import tensorboard_callbacks
from tfnmt.translation.training import train_translator

HOOKS = (
    "on_train_begin",
    "on_epoch_begin",
    "on_train_batch_begin",
    "on_train_batch_end",
    "on_epoch_end",
    "on_train_end",
)


def tensorboard_cost(preset: Any, files: ParallelFiles | None, dev_files: ParallelFiles | None) -> dict[str, float]:
    """Train as `tfnmt train-translator` does, in a directory that is then removed.

    Args:
        preset: a `Preset`.
        files, dev_files: as `train_translator` takes them.

    Returns:
        A dictionary: "seconds" from the run's first batch to its end, scoring the dev files included; "board_seconds"
        of these, and "share_of_time", what the callbacks took.
    """
    clock = _Clock()
    with tempfile.TemporaryDirectory() as directory:
        callbacks = tensorboard_callbacks(directory, preset)
        train_translator(
            directory, preset, files, dev_files, make_callbacks=lambda *given: clock.around(callbacks(*given))
        )
    seconds = clock.end - clock.start
    return {"seconds": seconds, "board_seconds": clock.spent, "share_of_time": clock.spent / seconds}


class _Clock:
    """When a run began and ended, and how many seconds callbacks took. Keras calls them in order, so the time goes by
    between a callback before them and one behind them.
    """

    def __init__(self):
        self.start, self.spent = None, 0.0

    def around(self, callbacks):
        before, behind = (
            keras.callbacks.LambdaCallback(**dict.fromkeys(HOOKS, hook)) for hook in (self._begin, self._end)
        )
        return [before, *callbacks, behind]

    def _begin(self, *_, **__):
        self.begun = time.perf_counter()
        self.start = self.start or self.begun

    def _end(self, *_, **__):
        self.end = time.perf_counter()
        self.spent += self.end - self.begun
