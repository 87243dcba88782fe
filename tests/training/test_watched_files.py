"""Files of a run that are changed while it trains."""

import os

import pytest

from tfnmt.errors import UserError
from tfnmt.training.run_record import RunRecord
from tfnmt.training.watched_files import WatchedFiles


@pytest.fixture
def files(tmp_path):
    """A training file, a dev file, and what watches them."""
    training, dev = tmp_path / "train", tmp_path / "dev"
    for path in (training, dev):
        path.write_text("one\ntwo\n")
    return training, dev, WatchedFiles(RunRecord.of(tmp_path, [training], [dev]), tmp_path)


def test_files_that_stay_as_they_are(files):
    training, dev, watched = files
    watched.check()
    os.utime(training, ns=(1, 1))
    copy = dev.with_name("copy")
    copy.write_bytes(dev.read_bytes())
    copy.rename(dev)
    watched.check()
    watched.check()


@pytest.mark.parametrize("which", [0, 1])
def test_other_text_of_the_same_size_is_noticed(which, files):
    path, watched = files[which], files[2]
    path.write_text("one\ntoo\n")
    os.utime(path, ns=(1, 1))
    with pytest.raises(UserError, match=f"^{path}: has changed while it was in use; put back what it was, then"):
        watched.check()
    path.write_text("one\ntwo\n")
    watched.check()


def test_a_file_that_is_gone_is_noticed(files):
    training, _, watched = files
    training.unlink()
    with pytest.raises(UserError, match=f"^{training}: cannot be read any more .No such file or directory.; put it"):
        watched.check()
