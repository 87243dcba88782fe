"""One process of a training whose steps are timed: `python -m` this module, with what to train as JSON.

It prints a JSON object, if it is the one that scores: "steps", the seconds of each step; "processor", the processor's
seconds in the median step; "variables", how many the model has; "all_reduce", the seconds of a sum of all gradients
over all workers.
"""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfnmt.tensorflow_start import import_tensorflow

SUMS = 20


NUDGE = 1e-7
"""About the last bit of a float32, relative to it."""


class Nudge(keras.callbacks.Callback):
    """Changes the first weights by about their last bit before the training begins."""

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        first = self.model.trainable_weights[0]
        first.assign(first.value * (1 + NUDGE))


class StepTimes(keras.callbacks.Callback):
    """Notes when each batch ends."""

    def __init__(self):
        super().__init__()
        self.ends: list[float] = []
        self.processor: list[float] = []

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        self.ends.append(time.perf_counter())
        self.processor.append(time.process_time())


def main(what: dict[str, Any]) -> None:
    """Train.

    Args:
        what: "kind", "translator" or "classifier"; "preset" and "settings", as commands have them; "files", paths of
            training and dev files, or None; "strategy"; "directory"; "nudged", whether the first weights are changed
            by their last bit.
    """
    import_tensorflow()
    import tensorflow as tf

    from tfnmt.classification.presets import CLASSIFIER_PRESETS
    from tfnmt.classification.training import train_classifier
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.threads import share_processors
    from tfnmt.training.strategies import connect
    from tfnmt.translation.presets import PRESETS, find_preset
    from tfnmt.translation.training import train_translator

    is_translator = what["kind"] == "translator"
    preset = find_preset(what["preset"], PRESETS if is_translator else CLASSIFIER_PRESETS).override(what["settings"])
    share_processors(preset.model.micro_batches)
    replicas, times = connect(what["strategy"]), StepTimes()
    files: Any = what["files"] or (None, None)
    if is_translator and what["files"]:
        files = ParallelFiles(*files[:2]), ParallelFiles(*files[2:])
    callbacks = [times, *([Nudge()] if what["nudged"] else [])]
    train: Any = train_translator if is_translator else train_classifier
    model, _ = train(Path(what["directory"]), preset, *files, make_callbacks=lambda *_: callbacks, replicas=replicas)

    gradients = [tf.zeros_like(weight) for weight in model.trainable_weights]
    summed = tf.function(replicas.sum, autograph=False)
    seconds = []
    for _ in range(SUMS + 1):
        start = time.perf_counter()
        for tensor in summed(gradients):
            tensor.numpy()
        seconds.append(time.perf_counter() - start)
    if replicas.is_chief:
        steps = [end - start for start, end in zip(times.ends, times.ends[1:], strict=False)]
        figures = {
            "steps": steps,
            "processor": statistics.median(np.diff(times.processor)),  # of a step in which nothing is scored or saved
            "variables": len(model.variables),
            "all_reduce": statistics.median(seconds[1:]),
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
