"""What TensorBoard shows of any training run: figures while it runs, histograms, settings with their final scores."""

import dataclasses
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from matplotlib.backends.backend_agg import FigureCanvasAgg
from tensorboard.plugins.hparams import api as hparams

LOGS = "logs"
PROJECTED_WORDS = 2000
"""Word vectors in the projector: enough to see structure, and a file of a megabyte or two."""
STEPS_BETWEEN = 50
"""Batches between two points of a curve: often enough to follow a run, and under 3% of its time."""


class Board(keras.callbacks.Callback):
    """Writes event files for TensorBoard. It stands after the callback that scores epochs, whose figures it writes too.

    - every 50 batches: the epoch's loss and metrics so far, learning rate, norm of the gradient, target words a second;
    - every epoch: all figures, those on dev data too, and a histogram of each weight;
    - at the end: the settings beside the last figures (HParams).

    A resumed run goes on in the same directory, at its own step.

    Args:
        directory: where event files go.
        settings: {key: value}, what the run was started with.
        profile_steps: (first, last) batch that TensorFlow's profiler watches, or None.
    """

    def __init__(self, directory, settings, profile_steps=None):
        super().__init__()
        self.directory = str(directory)
        self.settings = {key: _plain(value) for key, value in settings.items()}
        self.profile_steps = profile_steps
        self.writer = None
        self.profiling = False

    def on_train_begin(self, logs=None):
        if self.writer is None:  # a resumed run calls `fit` twice
            self.writer = tf.summary.create_file_writer(self.directory)
        self.since = None

    def on_epoch_begin(self, epoch, logs=None):
        self.since = None  # what lies between epochs is no training

    def on_train_batch_begin(self, batch, logs=None):
        if self.profile_steps and not self.profiling and self.step() + 1 == self.profile_steps[0]:
            tf.profiler.experimental.start(self.directory)
            self.profiling = True

    def on_train_batch_end(self, batch, logs=None):
        if self.profiling and self.step() >= self.profile_steps[1]:
            tf.profiler.experimental.stop()
            self.profiling, self.profile_steps = False, None
        if self.step() % STEPS_BETWEEN:
            return
        optimizer = self.model.optimizer
        figures = dict(logs) | {"learning_rate": float(optimizer.learning_rate)} | self._rate()
        if hasattr(optimizer, "gradient_norm"):
            figures["gradient_norm"] = float(optimizer.gradient_norm)
        self._write({f"batch/{name}": value for name, value in figures.items()})

    def on_epoch_end(self, epoch, logs=None):
        self._write({f"epoch/{name}": value for name, value in logs.items()})
        self.final = {f"final/{name}": value for name, value in logs.items()}
        with self.writer.as_default(step=self.step()):
            for weight in self.model.trainable_variables:
                tf.summary.histogram(weight.path, weight)

    def on_train_end(self, logs=None):
        if self.profiling:
            tf.profiler.experimental.stop()
        if not hasattr(self, "final"):
            return
        # In a folder of its own, since TensorBoard counts each folder with settings as one run.
        with tf.summary.create_file_writer(str(Path(self.directory, "final"))).as_default(step=self.step()):
            hparams.hparams(self.settings, trial_id=self.directory)
            for name, value in self.final.items():
                tf.summary.scalar(name, value)
        self.writer.flush()

    def step(self):
        """Batches since the beginning of the run."""
        return int(self.model.optimizer.iterations)

    def _rate(self):
        """Target words a second since the last point, where a metric counts words."""
        counters = [metric.words for metric in _metrics(self.model) if hasattr(metric, "words")]
        if not counters:
            return {}
        now, words = time.monotonic(), float(counters[0])
        before, self.since = self.since, (now, words)
        if before is None or words <= before[1]:
            return {}
        return {"words_per_second": (words - before[1]) / (now - before[0])}

    def _write(self, figures):
        with self.writer.as_default(step=self.step()):
            for name, value in figures.items():
                tf.summary.scalar(name, value)


def preset_settings(preset):
    """{key: value} of all configurations of a preset."""
    return {key: value for part in vars(preset).values() for key, value in dataclasses.asdict(part).items()}


def picture(figure):
    """A figure of matplotlib's as an image, uint8 [1, height, width, 4]."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[np.newaxis]


def _metrics(model):
    """The model's metrics, those within Keras's compiled ones too."""
    for metric in model.metrics:
        yield from getattr(metric, "metrics", [metric])


def _plain(value):
    """What HParams can show: a number, a string or a truth value."""
    return value if isinstance(value, bool | int | float | str) else str(value)
