"""What TensorBoard shows of any training run: curves while it runs, histograms, settings with their final scores."""

import functools
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from tensorboard.plugins.hparams import api as hparams

from tfnmt.training.keras_internals import trained_batches

LOGS = "logs"
"""The folder of event files in a model directory."""
BATCHES_BETWEEN_POINTS = 50
"""Of a curve: often enough to follow a run, and under 3% of its time."""


class SummaryCallback(keras.callbacks.Callback):
    """Writes event files. A resumed run goes on in the same directory, at its own step.

    Args:
        directory: where event files go. Nothing is written there before the run begins.
    """

    def __init__(self, directory: str | Path):
        super().__init__()
        self.directory = str(directory)
        self.graph_written = False

    @functools.cached_property
    def writer(self) -> tf.summary.SummaryWriter:
        return tf.summary.create_file_writer(self.directory)

    def step(self) -> int:
        """Batches since the beginning of the run."""
        return trained_batches(self.model.optimizer)

    def write_graph(self, model: keras.Model, inputs: Mapping[str, tf.TensorSpec]) -> None:
        """Trace the forward pass for such inputs, and write it; once, though a resumed run calls `fit` twice."""
        if self.graph_written:
            return
        forward = tf.function(model, autograph=False).get_concrete_function(dict(inputs))
        with self.writer.as_default():
            tf.summary.graph(forward.graph)
        self.graph_written = True

    def write_scalars(self, prefix: str, values: Mapping[str, float]) -> None:
        """One point for each value, at the present step."""
        with self.writer.as_default(step=self.step()):
            for name, value in values.items():
                tf.summary.scalar(f"{prefix}/{name}", value)


class TrainingSummaries(SummaryCallback):
    """The curves of a run. It stands after the callback that scores epochs, whose figures it writes too.

    - every 50 batches, and at the end of a first epoch that has fewer: the epoch's loss and metrics so far, learning
      rate, norm of the gradient, target words (of classifiers, examples) a second;
    - every epoch: all figures, those on dev data too, and a histogram of each weight;
    - at the end: the settings beside the last figures (HParams).

    Args:
        directory: where event files go.
        settings: {key: value}, what the run was started with.
        profile_steps: (first, last) batch that TensorFlow's profiler watches, at most to the end of the first one's
            epoch; None for none.
    """

    def __init__(
        self, directory: str | Path, settings: Mapping[str, Any], profile_steps: tuple[int, int] | None = None
    ):
        super().__init__(directory)
        self.settings = {key: _for_hparams(value) for key, value in settings.items()}
        self.profile_steps = profile_steps
        self.profiling = False
        self.final_scores = {}
        self.has_point = False

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self.last_count: tuple[float, float] | None = None  # the time between epochs is not training

    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        if self.profile_steps and not self.profiling and self.step() + 1 == self.profile_steps[0]:
            tf.profiler.experimental.start(self.directory)
            self.profiling = True

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        is_last_of_epoch = batch + 1 == self.params.get("steps")  # then dev data are scored, which is no training
        if self.profile_steps and (is_last_of_epoch or self.step() >= self.profile_steps[1]):
            self._stop_profiler()
        if self.last_count is None:
            self._speed()  # counts from here on, since the first batch may have been traced
        is_last = is_last_of_epoch or self.model.stop_training
        if self.step() % BATCHES_BETWEEN_POINTS and (self.has_point or not is_last):
            return
        self.has_point = True
        optimizer = self.model.optimizer
        scalars = dict(logs or {}) | {"learning_rate": float(optimizer.learning_rate)} | self._speed()
        if hasattr(optimizer, "gradient_norm"):
            scalars["gradient_norm"] = float(optimizer.gradient_norm)
        self.write_scalars("batch", scalars)

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self.write_scalars("epoch", logs or {})
        self.final_scores = {f"final/{name}": value for name, value in (logs or {}).items()}
        with self.writer.as_default(step=self.step()):
            for weight in self.model.trainable_variables:
                tf.summary.histogram(weight.path, weight)

    def on_train_end(self, logs: dict | None = None) -> None:
        self._stop_profiler()
        if not self.final_scores:
            return
        # In a folder of its own, since TensorBoard counts each folder with settings as one run.
        with tf.summary.create_file_writer(str(Path(self.directory, "final"))).as_default(step=self.step()):
            hparams.hparams(self.settings, trial_id=self.directory)
            for name, value in self.final_scores.items():
                tf.summary.scalar(name, value)
        self.writer.flush()

    def _stop_profiler(self):
        if self.profiling:
            tf.profiler.experimental.stop()
            self.profiling, self.profile_steps = False, None

    def _speed(self) -> dict[str, float]:
        """Target words a second since the last point or the epoch's first batch, where a metric counts words; or else
        examples, as many as a whole batch has for each."""
        words = [float(metric.words) for metric in _metrics(self.model) if hasattr(metric, "words")]
        name, count = ("words", words[0]) if words else ("examples", self.step() * float(self.settings["batch_size"]))
        now = time.monotonic()
        before, self.last_count = self.last_count, (now, count)
        if before is None or count <= before[1]:
            return {}
        return {f"{name}_per_second": (count - before[1]) / (now - before[0])}


def preset_settings(preset: Any) -> dict[str, Any]:
    """{key: value} of all configurations of a preset."""
    return {key: value for _, part in preset for key, value in part}


def _metrics(model: keras.Model) -> Iterator[keras.metrics.Metric]:
    """The model's metrics; those of `compile` stand within one of Keras's."""
    for metric in model.metrics:
        yield from getattr(metric, "metrics", [metric])


def _for_hparams(value: Any) -> bool | int | float | str:
    return value if isinstance(value, bool | int | float | str) else str(value)
