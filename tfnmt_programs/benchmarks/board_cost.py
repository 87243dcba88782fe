"""What it costs to write for TensorBoard: the part of a run's time that goes by in the callbacks that do so."""

import functools
import tempfile
import time

import keras

from tfnmt.inspection.translator_board import watch_translator
from tfnmt.translation.training import train_translator


def board_cost(preset, files, dev_files):
    """Train as `scripts/train_translator.py` does, in a directory that is then removed.

    Args:
        preset: a `Preset`.
        files, dev_files: `ParallelFiles`.

    Returns:
        A dictionary: "seconds" from the run's first batch to its end, scoring the dev files included; "board_seconds"
        of these, and "share_of_time", what the callbacks took.
    """
    clock = _Clock()
    with tempfile.TemporaryDirectory() as directory:
        watch = watch_translator(directory, preset, dev_files)
        train_translator(
            directory, preset, files, dev_files, watch=lambda model: [clock, *map(clock.timed, watch(model))]
        )
    seconds = clock.end - clock.start
    return {"seconds": seconds, "board_seconds": clock.spent, "share_of_time": clock.spent / seconds}


class _Clock(keras.callbacks.Callback):
    """When the run began and ended, and how many seconds other callbacks took. It stands before them."""

    def __init__(self):
        super().__init__()
        self.start, self.spent = None, 0.0

    def on_train_begin(self, logs=None):
        self.start = self.start or time.perf_counter()

    def timed(self, callback):
        """The same callback, its hooks timed."""
        for name in dir(callback):
            hook = getattr(callback, name)
            if name.startswith("on_") and not getattr(hook, "_is_default", False):  # Keras skips those
                setattr(callback, name, self._timed_hook(hook))
        return callback

    def _timed_hook(self, hook):
        @functools.wraps(hook)
        def timed(*arguments, **options):
            start = time.perf_counter()
            hook(*arguments, **options)
            self.end = time.perf_counter()
            self.spent += self.end - start

        return timed
