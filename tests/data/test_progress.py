"""What the log tells while something long is read. The clock is the test's own."""

import itertools
import logging
from types import SimpleNamespace

import pytest

from tfnmt.data import progress
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.lines import count_lines
from tfnmt.data.parallel import check_parallel
from tfnmt.data.progress import duration, log_counts, log_progress, log_waiting
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


def test_a_line_after_a_second_and_then_every_ten(seconds, logged):
    """The clock is looked at once at the beginning and after every 1,024 lines."""
    seconds["each"] = 0.5
    assert list(log_progress(range(50 * 1024), "en, reading", 100 * 1024)) == list(range(50 * 1024))
    assert logged() == [
        "en, reading: 2,048 of 102,400 lines, 2,048 a second, 49 s left",
        "en, reading: 22,528 of 102,400 lines, 2,048 a second, 39 s left",
        "en, reading: 43,008 of 102,400 lines, 2,048 a second, 29 s left",
    ]


def test_batches_of_lines_and_no_total(seconds, logged):
    seconds["each"] = 4
    assert len(list(log_progress(range(8), "encoding", lines_each=512))) == 8
    assert logged() == [f"encoding: {lines} lines, 256 a second" for lines in ("1,024", "4,096")]
    assert list(log_progress([], "encoding", 0)) == []
    assert logged() == []


def test_items_that_each_stand_for_many(seconds, logged):
    seconds["each"] = 4
    assert list(log_counts([300, 100, 0, 200], "encoding", "pairs", lambda item: item)) == [300, 100, 0, 200]
    assert logged() == ["encoding: 300 pairs, 75 a second", "encoding: 600 pairs, 38 a second"]


def test_lines_come_as_they_are_asked_for():
    endless = itertools.count()
    lines = log_progress(endless, "reading")
    assert [next(lines), next(lines)] == [0, 1]
    assert next(endless) == 2


def test_files_that_are_read_for_minutes_say_so(seconds, logged, tmp_path):
    lines = 2500
    (tmp_path / "a").write_text("word\n" * lines, encoding="utf-8")
    (tmp_path / "sst").write_text("(2 (3 a) (1 b))\n" * lines, encoding="utf-8")
    assert check_parallel(tmp_path / "a", tmp_path / "a") == lines
    assert logged() == [f"{tmp_path / 'a'}, reading: 1,024 of 2,500 lines, 1,024 a second, 1 s left"] * 2
    ExampleDataset(TASKS["sst"], tmp_path / "sst")
    assert logged() == [f"{tmp_path / 'sst'}, reading: 1,024 of 2,500 lines, 1,024 a second, 1 s left"]


def test_waiting(monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="tfnmt")
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0.001)
    with log_waiting("learning words"):
        while len(caplog.records) < 3:
            pass
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
