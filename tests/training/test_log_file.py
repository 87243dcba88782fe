"""log.txt: what a run logs, from its beginning to its end, over all times it was resumed."""

import logging
import re

import pytest

from tfnmt.errors import UserError
from tfnmt.training.log_file import LOG, log_to_file
from tfnmt.training.run_record import RECORD

logger = logging.getLogger("tfnmt.training.test")


@pytest.fixture(autouse=True)
def from_info_on(logged):
    """As the commands have it."""


def lines(directory):
    """The lines of log.txt, without the time that each begins with."""
    text = (directory / LOG).read_text(encoding="utf-8")
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", line) for line in text.splitlines())
    return [line[20:] for line in text.splitlines()]


def test_all_that_is_logged_is_in_the_file_and_a_resumed_run_appends(tmp_path):
    with log_to_file(tmp_path):
        logger.info("kept all 9 päirs")
        assert not (tmp_path / LOG).exists()
        (tmp_path / RECORD).write_text("")
        logger.info("epoch 1 of 2: loss: %.1f", 2)
        logger.debug("too fine")
        assert lines(tmp_path) == ["kept all 9 päirs", "epoch 1 of 2: loss: 2.0"]
    logger.info("after the run")
    with log_to_file(tmp_path):
        logger.warning("going on")
    assert lines(tmp_path) == ["kept all 9 päirs", "epoch 1 of 2: loss: 2.0", "going on"]


@pytest.mark.parametrize(
    "error, line",
    [(UserError("the disk is full"), "ended by UserError: the disk is full"), (KeyboardInterrupt(), None)],
)
def test_what_ended_a_run_is_told(error, line, tmp_path):
    (tmp_path / RECORD).write_text("")
    with pytest.raises(type(error)), log_to_file(tmp_path):
        raise error
    assert lines(tmp_path) == [line or "ended by KeyboardInterrupt"]


def test_a_run_that_is_refused_leaves_nothing(tmp_path):
    with pytest.raises(UserError), log_to_file(tmp_path):
        logger.info("reading")
        raise UserError("the file is empty")
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_cannot_be_written_ends_no_run(tmp_path, capsys):
    (tmp_path / RECORD).write_text("")
    (tmp_path / LOG).mkdir()
    with log_to_file(tmp_path):
        logger.info("going on")
    assert capsys.readouterr() == ("", "")
