"""What a training would be: begun in a folder that is then removed, and ended after some batches."""

import json
import math
import resource
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import yaml

from tfnmt.data.progress import duration
from tfnmt.errors import UserError
from tfnmt.signals import nothing_saved
from tfnmt.training.checkpoints import saved_progress
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.model_directory import CHECKPOINTS, CONFIGURATION

WARM_UP, TIMED = 3, 10
"""Batches that are trained on: so many that do not count, for the graph is made in the first, and so many timed."""

Callbacks = Callable[..., Sequence[keras.callbacks.Callback]]


class _EnoughError(Exception):
    """Ends `fit`."""


class BatchTimer(keras.callbacks.Callback):
    """Times the batches of a training, and ends it with `_EnoughError` when it knows enough."""

    def __init__(self):
        super().__init__()
        self.seconds: list[float] = []

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        self.began = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """See `keras.callbacks.Callback`."""
        self.seconds.append(time.monotonic() - self.began)
        if len(self.seconds) == min(WARM_UP + TIMED, self.params["steps"]):
            raise _EnoughError


def dry_run(train: Callable[[Path, Callbacks], Any], configuration: TrainingConfiguration) -> str:
    """Begin a training as `train` does, end it after a few batches, and tell what it would be.

    Args:
        train: trains in a new directory with callbacks, such as `train_translator` on certain files.
        configuration: of the training.

    Returns:
        Lines of text that `--config` reads: the resolved configuration as YAML; the weights of each part, the memory,
        the batches and the time as comments.

    Raises:
        UserError: as `train`; nothing is trained.
        InterruptedBySignal: one has come.
    """
    timer = BatchTimer()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder, "run")
        try:
            with nothing_saved():  # the folder goes
                train(directory, lambda *_: [timer])
        except _EnoughError:
            pass
        except UserError as error:
            raise UserError(str(error).replace(f"{directory}", "the run")) from error
        batches_per_epoch = saved_progress(directory / CHECKPOINTS).batches_per_epoch
        settings = json.loads((directory / CONFIGURATION).read_text(encoding="utf-8"))
    told = weights_by_part(timer.model) + _memory(timer.model) + _time(timer, batches_per_epoch, configuration)
    comments = (f"# {line}".rstrip() for line in told)
    return "\n".join([yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), *comments])


def weights_by_part(model: keras.Model) -> list[str]:
    """A line for each part of a model, with the number of its weights, and one for all."""
    parts: Counter[str] = Counter()
    for weight in model.weights:
        parts[_part(model, weight)] += math.prod(weight.shape)
    rows = [*parts.items(), ("all weights", model.count_params())]
    width = max(len(name) for name, _ in rows)
    return [f"{name:{width}}  {number:>12,}" for name, number in rows]


def _part(model, weight):
    """The name of the layer of a model that a weight is in, such as "decoder"."""
    names = [name for name in weight.path.split("/")[:-1] if name != model.name]
    return names[0] if names else weight.name


def _memory(model):
    optimizer = sum(math.prod(variable.shape) for variable in model.optimizer.variables)
    trained = sum(math.prod(weight.shape) for weight in model.trainable_weights)
    megabytes = 4 * (model.count_params() + trained + optimizer) / 1e6
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return [
        "",
        f"memory: {megabytes:,.0f} MB of weights, gradient and optimizer; the process had {most:,.0f} MB at most",
    ]


def _time(timer, batches_per_epoch, configuration):
    batches = configuration.total_batches(batches_per_epoch)
    timed = timer.seconds[WARM_UP:]
    counted = f"batches: {batches_per_epoch:,} an epoch, {batches:,} in all"
    if not timed:
        return [counted, f"time: not known after {len(timer.seconds)} batches, for the first {WARM_UP} warm up"]
    seconds = statistics.mean(timed)
    return [
        counted,
        f"time: {seconds:.3f} s a batch, the mean of {len(timed)}; {duration(batches * seconds)} in all,"
        " without the dev scores",
    ]
