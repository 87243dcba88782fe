"""A dry run that does not come to its end; what one tells is in the tests of the commands that train."""

import itertools
import signal
from types import SimpleNamespace

import keras
import pytest

from tests.training.test_run import BATCHES, start
from tfnmt.errors import InterruptedBySignal
from tfnmt.training import dry_run as module
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.dry_run import dry_run
from tfnmt.training.optimizers import make_optimizer


def test_an_interrupted_one_does_not_go_on_in_a_folder_that_is_gone():
    def train(directory, callbacks):
        raise InterruptedBySignal(f"interrupted by SIGTERM; --resume {directory} goes on", signal.SIGTERM)

    with pytest.raises(
        InterruptedBySignal, match="^interrupted by SIGTERM; nothing is saved: start it again$"
    ) as caught:
        dry_run(train, TrainingConfiguration())
    assert caught.value.signal == signal.SIGTERM


@pytest.mark.parametrize("steps, in_all", [(3, 3), (9, 9), (None, 2 * BATCHES)])
def test_an_epoch_has_all_its_batches_however_few_are_trained(steps, in_all):
    def train(directory, callbacks):
        directory.mkdir()
        (directory / "config.json").write_text("{}", encoding="utf-8")
        start(directory, session={"callbacks": callbacks()}, epochs=2, steps=steps)

    told = dry_run(train, TrainingConfiguration(epochs=2, steps=steps))
    assert f"\n# batches: {BATCHES} an epoch, {in_all} in all\n" in told
    assert ("\n# time: not known" in told) == (in_all <= 3)


def test_batches_that_warm_up_tell_no_time(monkeypatch):
    monkeypatch.setattr("tfnmt.training.dry_run.WARM_UP", BATCHES)

    def train(directory, callbacks):
        directory.mkdir()
        (directory / "config.json").write_text("{}", encoding="utf-8")
        start(directory, session={"callbacks": callbacks()}, epochs=1)

    told = dry_run(train, TrainingConfiguration(epochs=1))
    assert told.endswith(f"# time: not known after {BATCHES} batches, for the first {BATCHES} warm up")


def test_the_time_is_that_of_all_batches_by_those_after_the_first(monkeypatch):
    """Three of a minute each, in which the graph is made, then four of half a second each; 14 in two epochs."""
    ticks = itertools.accumulate(seconds for batch in (60, 60, 60, 0.5, 0.5, 0.5, 0.5) for seconds in (0, batch))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(ticks)))

    def train(directory, callbacks):
        directory.mkdir()
        (directory / "config.json").write_text("{}", encoding="utf-8")
        start(directory, session={"callbacks": callbacks()}, epochs=2)

    told = dry_run(train, TrainingConfiguration(epochs=2))
    assert told.endswith("# time: 0.500 s a batch, the mean of 4; 7 s in all, without the dev scores")


def test_the_memory_of_weights_gradient_and_optimizer_by_hand():
    """Of a million weights that are trained, with Adam, four times 4 MB; of two million that are not, once 8 MB."""
    model = keras.Sequential(
        [keras.Input([]), keras.layers.Embedding(2000, 1000, trainable=False), keras.layers.Dense(1000)]
    )
    model.compile(make_optimizer(TrainingConfiguration(), 10), "mse")
    model.optimizer.build(model.trainable_variables)
    assert module._memory(model)[1].startswith("memory: 24 MB of weights, gradient and optimizer; ")
