"""A dry run that does not come to its end; what one tells is in the tests of the commands that train."""

import signal

import pytest

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
