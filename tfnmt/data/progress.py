"""How far something long is: how much of it is done, how fast, how long it will take.

All that takes long tells it by the same text, "train.en, reading: 400,000 of 1,000,000 lines, 50,000 a second, 12 s
left". In the log it is a line now and then. Where a `TerminalHandler` shows the log, as in the commands, it is one line
on the terminal that is written over several times a second, and not there any more at the end. So a program that does
not show the log sees nothing of it.
"""

import contextlib
import logging
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, Self, TypeVar

from tfnmt.background import repeatedly

logger = logging.getLogger(__name__)

FIRST_AFTER, SECONDS_BETWEEN, LATER = 10, 10, 60
"""Seconds until the first line in the log, and between lines within the first minute and after it."""
READING_AFTER = 1
"""Seconds until the first line in the log about a file that is read: nothing else is heard of a command by then."""
_SECONDS_DRAWN = 0.2
"""Between two times that the line on a terminal is written."""
_LOOKS_AFTER = 1024  # items: to look at the clock for each would take longer than to read most
_BAR = 10

Item = TypeVar("Item")


class TerminalHandler(logging.StreamHandler):
    """Shows the log on a terminal, standard error, with a line for progress below it."""

    shown: ClassVar[Self | None] = None
    """The one in use, if any."""
    _line = ""

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        if not hasattr(record, "is_progress"):  # else the line tells it
            self.draw("")
            super().emit(record)

    def draw(self, text: str) -> None:
        """Show a text as the line for progress, in the place of the last one; an empty text is no line."""
        assert self.lock
        with self.lock:
            text = text[: shutil.get_terminal_size().columns - 1]
            if text != self._line:
                self.stream.write(f"\r{text}\x1b[K")  # which erases what is left of the last one
                self.stream.flush()
                self._line = text


class ProgressDisplay:
    """Tells how far something is, as `with ProgressDisplay("train.en, reading", "lines", 1000) as display:`.

    Args:
        doing: what is done, the beginning of the text.
        unit: what is counted.
        total: how many there are, if it is known.
        done: how many are done when it begins.
        first_after: seconds until the first line in the log.
    """

    def __init__(
        self, doing: str, unit: str, total: int | None = None, done: int = 0, first_after: float = FIRST_AFTER
    ):
        self.doing, self.unit, self.total = doing, unit, total
        self.before = self.done = done
        self.began = time.monotonic()
        self._due, self._drawn = first_after, 0.0

    def __enter__(self) -> Self:
        """Return the display."""
        return self

    def __exit__(self, *_: object) -> None:
        """As `end`."""
        self.end()

    def end(self) -> None:
        """Erase the line on the terminal."""
        if TerminalHandler.shown:
            TerminalHandler.shown.draw("")

    def advance(self, number: int, more: str = "") -> None:
        """So many more are done; `more` is for the end of the text."""
        self.done += number
        seconds = time.monotonic() - self.began
        terminal = TerminalHandler.shown
        if terminal and seconds >= self._drawn + _SECONDS_DRAWN:
            self._drawn = seconds
            terminal.draw(self._bar() + self._text(seconds) + more)
        if seconds >= self._due and self.done != self.total:  # of the end, what comes next tells
            self._due = _next_due(seconds)
            logger.info("%s%s", self._text(seconds), more, extra={"is_progress": True})

    def _text(self, seconds):
        of_total = "" if self.total is None else f" of {self.total:,}"
        text = f"{self.doing}: {self.done:,}{of_total} {self.unit}"
        rate = (self.done - self.before) / max(seconds, 1e-6)
        if rate == 0:
            return text
        left = "" if self.total is None else f", {duration((self.total - self.done) / rate)} left"
        return f"{text}, {rate:,.0f} a second{left}" if rate >= 10 else f"{text}, {rate:.2g} a second{left}"

    def _bar(self):
        if not self.total:
            return ""
        full = min(_BAR, _BAR * self.done // self.total)
        return "━" * full + "─" * (_BAR - full) + " "


def log_progress(items: Iterable[Item], doing: str, total: int | None = None, lines_each: int = 1) -> Iterator[Item]:
    """The same items, with a `ProgressDisplay` of the lines.

    Args:
        items: lines, or batches of lines.
        doing: what is done with them.
        total: the number of lines, if it is known.
        lines_each: how many lines are in an item, a power of 2.
    """
    with ProgressDisplay(doing, "lines", total, first_after=READING_AFTER) as display:
        waiting = 0
        for item in items:
            yield item
            waiting += lines_each
            if waiting % _LOOKS_AFTER == 0:
                display.advance(waiting)
                waiting = 0


def log_counts(
    items: Iterable[Item], doing: str, unit: str, count: Callable[[Item], int], total: int | None = None
) -> Iterator[Item]:
    """The same items, each of which takes a while and stands for many, with a `ProgressDisplay`.

    Args:
        items: the items.
        doing: what is done with them.
        unit: what is counted.
        count: how many an item stands for.
        total: how many all stand for, if it is known.
    """
    with ProgressDisplay(doing, unit, total) as display:
        for item in items:
            yield item
            display.advance(count(item))


@contextlib.contextmanager
def log_waiting(doing: str) -> Iterator[None]:
    """While something runs that cannot tell how far it is: at first a line such as "learning words", and then now and
    then one such as "learning words: 20 s"; on a terminal, that one is written over every second.
    """
    logger.info("%s", doing)
    began, due = time.monotonic(), float(SECONDS_BETWEEN)

    def tell() -> None:
        nonlocal due
        seconds = time.monotonic() - began
        text = f"{doing}: {duration(seconds)}"
        if TerminalHandler.shown:
            TerminalHandler.shown.draw(text)
        if seconds >= due:
            due = _next_due(seconds)
            logger.info("%s", text, extra={"is_progress": True})

    try:
        with repeatedly(tell, min(1, SECONDS_BETWEEN)):
            yield
    finally:
        if TerminalHandler.shown:
            TerminalHandler.shown.draw("")


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


def _next_due(seconds):
    return seconds + (SECONDS_BETWEEN if seconds < LATER else LATER)
