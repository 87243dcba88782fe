"""What the log tells while something long is read. The clock is the test's own."""

import io
import itertools
import logging
from types import SimpleNamespace

import pytest

from tests.processes import wait_until
from tfnmt.data import progress
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.lines import count_lines
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.progress import ProgressDisplay, TerminalHandler, duration, log_counts, log_progress, log_waiting
from tfnmt.data.tasks import TASKS


@pytest.fixture
def seconds(monkeypatch):
    """Each look at the clock takes so many seconds; to be set."""
    ticks = {"each": 1.0, "now": 0.0}

    def monotonic():
        ticks["now"] += ticks["each"]
        return ticks["now"]

    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=monotonic))
    return ticks


def test_a_line_after_a_second_and_then_every_ten_and_after_a_minute_every_minute(seconds, logged):
    """The clock is looked at once at the beginning and after every 1,024 lines."""
    seconds["each"] = 0.5
    assert list(log_progress(range(260 * 1024), "en, reading", 400 * 1024)) == list(range(260 * 1024))
    lines = logged(progress=True)
    assert lines[:2] == [
        "en, reading: 2,048 of 409,600 lines, 2,048 a second, 3 min 19 s left",
        "en, reading: 22,528 of 409,600 lines, 2,048 a second, 3 min 9 s left",
    ]
    assert [line.split()[2] for line in lines[2:]] == ["43,008", "63,488", "83,968", "104,448", "124,928", "247,808"]


def test_batches_of_lines_and_no_total(seconds, logged):
    seconds["each"] = 4
    assert len(list(log_progress(range(8), "encoding", lines_each=512))) == 8
    assert logged(progress=True) == [f"encoding: {lines} lines, 256 a second" for lines in ("1,024", "4,096")]
    assert list(log_progress([], "encoding", 0)) == []
    assert logged(progress=True) == []


def test_items_that_each_stand_for_many(seconds, logged):
    seconds["each"] = 10
    assert list(log_counts([300, 100], "encoding", "pairs", lambda item: item)) == [300, 100]
    assert logged(progress=True) == ["encoding: 300 pairs, 30 a second", "encoding: 400 pairs, 20 a second"]
    assert list(log_counts([2, 4, 2], "translating", "texts", lambda item: item, 8)) == [2, 4, 2]
    assert logged(progress=True) == [
        "translating: 2 of 8 texts, 0.2 a second, 30 s left",
        "translating: 6 of 8 texts, 0.3 a second, 7 s left",
    ], "of the end nothing is said"


def test_a_terminal_has_one_line_that_is_written_over(seconds, caplog, monkeypatch):
    """It is gone when something is logged, and at the end; the lines of the log do not come to it."""
    monkeypatch.setenv("COLUMNS", "60")
    stream, logger = io.StringIO(), logging.getLogger("tfnmt")
    handler = TerminalHandler(stream)
    monkeypatch.setattr(TerminalHandler, "shown", handler)
    logger.addHandler(handler)
    caplog.set_level(logging.INFO, logger="tfnmt")
    try:
        with ProgressDisplay("parsing", "texts", 40) as display:
            for _ in range(12):
                display.advance(1)
            logger.info("a line is too long")
            display.advance(4, "; loss: 1.2345")
    finally:
        logger.removeHandler(handler)
    drawn = stream.getvalue().split("\r")
    assert drawn[1] == "────────── parsing: 1 of 40 texts, 1 a second, 39 s left\x1b[K"
    assert drawn[12] == "━━━─────── parsing: 12 of 40 texts, 1 a second, 28 s left\x1b[K"
    last = "━━━━────── parsing: 16 of 40 texts, 1.2 a second, 20 s left"  # so much as the terminal is wide
    assert drawn[13:] == ["\x1b[Ka line is too long\n", f"{last}\x1b[K", "\x1b[K"]


def test_lines_come_as_they_are_asked_for():
    endless = itertools.count()
    lines = log_progress(endless, "reading")
    assert [next(lines), next(lines)] == [0, 1]
    assert next(endless) == 2


def test_files_that_are_read_for_minutes_say_so(seconds, logged, tmp_path):
    lines = 2500
    (tmp_path / "a").write_text("word\n" * lines, encoding="utf-8")
    (tmp_path / "sst").write_text("(2 (3 a) (1 b))\n" * lines, encoding="utf-8")
    assert ParallelFiles(tmp_path / "a", tmp_path / "a").check() == lines
    reading = "reading: 1,024 of 2,500 lines, 1,024 a second, 1 s left"
    assert logged(progress=True) == [f"{tmp_path / 'a'}, {reading}"] * 2
    ExampleDataset(TASKS["sst"], tmp_path / "sst")
    assert logged(progress=True) == [f"{tmp_path / 'sst'}, {reading}"]


def test_waiting(monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="tfnmt")
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0.001)
    with log_waiting("learning words"):
        wait_until(lambda: len(caplog.records) >= 3)
    first, *others = (record.getMessage() for record in caplog.records)
    assert first == "learning words" and set(others) == {"learning words: 0 s"}


@pytest.mark.parametrize(
    "seconds, text", [(-1, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (7300, "2 h 1 min")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_lines_are_counted_with_and_without_a_last_end(tmp_path):
    for text, count in ((b"", 0), (b"a", 1), (b"a\n", 1), (b"a\n\nb", 3)):
        (tmp_path / "file").write_bytes(text)
        assert count_lines(tmp_path / "file") == count
    assert count_lines(tmp_path / "absent") is None and count_lines(tmp_path / "a.gz") is None
