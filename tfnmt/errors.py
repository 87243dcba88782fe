"""The exceptions for what the user got wrong or has interrupted, and what messages have in common."""

import contextlib
import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path


class UserError(Exception):
    """Something only the user can put right.

    The message is one line: what was wrong, where (file, line number, key or shape), and the way out. Scripts
    print it on standard error and exit with status 2, without a traceback.
    """


class InterruptedBySignal(KeyboardInterrupt):
    """A signal has ended what the program did. The message is one line, and says how to go on if there is a way.

    Args:
        message: the line.
        signal: the signal's number.
    """

    def __init__(self, message: str, signal: int):
        super().__init__(message)
        self.signal = signal


def nearest_name(name: str, known: Iterable[str]) -> str:
    """For the end of a message about an unknown name: "; the nearest is 'units'", or nothing if none is known."""
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"; the nearest is {nearest[0]!r}" if nearest else ""


@contextlib.contextmanager
def errors_in(file: str | Path) -> Iterator[None]:
    """Put a file's name in front of the message of every `UserError` raised within it."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{file}: {error}") from error
