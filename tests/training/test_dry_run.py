"""A dry run that does not come to its end; what one tells is in the tests of the commands that train."""

import signal

import pytest

from tests.training.test_run import BATCHES, start
from tfnmt.errors import InterruptedBySignal
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.dry_run import dry_run


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
