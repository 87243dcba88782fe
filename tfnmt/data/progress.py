"""Lines in the log while something long is read: how much of it, how fast, how long it will take."""

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from tfnmt.background import repeatedly

logger = logging.getLogger(__name__)

FIRST_AFTER, SECONDS_BETWEEN = 1, 10
"""Seconds until the first line, and between lines."""
_LOOKS_AFTER = 1024  # items: to look at the clock for each would take longer than to read most

Item = TypeVar("Item")


def log_progress(items: Iterable[Item], doing: str, total: int | None = None, lines_each: int = 1) -> Iterator[Item]:
    """The same items. After a second, and then every ten seconds, a line is logged, such as
    "train.en, reading: 400,000 of 1,000,000 lines, 50,000 a second, 12 s left".

    Args:
        items: lines, or batches of lines.
        doing: the beginning of the line.
        total: the number of lines, if it is known.
        lines_each: how many lines are in an item, a power of 2.
    """
    began, due, read = time.monotonic(), float(FIRST_AFTER), 0
    for item in items:
        yield item
        read += lines_each
        if read % _LOOKS_AFTER:
            continue
        seconds = time.monotonic() - began
        if seconds < due:
            continue
        due = seconds + SECONDS_BETWEEN
        rate = read / seconds
        of_total = "" if total is None else f" of {total:,}"
        left = "" if total is None else f", {duration((total - read) / rate)} left"
        logger.info("%s: %s%s lines, %s a second%s", doing, f"{read:,}", of_total, f"{rate:,.0f}", left)


def log_counts(items: Iterable[Item], doing: str, unit: str, count: Callable[[Item], int]) -> Iterator[Item]:
    """The same items, each of which stands for many. After a second, and then every ten seconds, a line is logged, such
    as "encoding: 400,000 pairs, 50,000 a second".

    Args:
        items: of which each takes a while.
        doing: the beginning of the line.
        unit: what is counted.
        count: how many an item stands for.
    """
    began, due, done = time.monotonic(), float(FIRST_AFTER), 0
    for item in items:
        yield item
        done += count(item)
        seconds = time.monotonic() - began
        if seconds >= due:
            due = seconds + SECONDS_BETWEEN
            logger.info("%s: %s %s, %s a second", doing, f"{done:,}", unit, f"{done / seconds:,.0f}")


@contextlib.contextmanager
def log_waiting(doing: str) -> Iterator[None]:
    """While something runs that cannot tell how far it is: at first a line such as "learning words", and then every
    ten seconds one such as "learning words: 20 s".
    """
    logger.info("%s", doing)
    began = time.monotonic()
    with repeatedly(lambda: logger.info("%s: %s", doing, duration(time.monotonic() - began)), SECONDS_BETWEEN):
        yield


def duration(seconds: float) -> str:
    """Seconds as text with the two largest units at most: "5 s", "3 min 20 s", "2 h 5 min"."""
    seconds = max(0, round(seconds))
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min"
