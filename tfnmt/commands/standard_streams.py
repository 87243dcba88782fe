"""Standard output and standard error, where nobody may read them, or the disk that they go to is full."""

import contextlib
import os
import sys
from typing import Any, TextIO


class StandardOutput:
    """A stream whose errors name it, as those of a file do.

    Args:
        stream: standard output.
    """

    def __init__(self, stream: TextIO):
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """As the stream's."""
        with _errors_of_output():
            return self.stream.write(text)

    def flush(self) -> None:
        """As the stream's."""
        with _errors_of_output():
            self.stream.flush()


@contextlib.contextmanager
def _errors_of_output():
    try:
        yield
    except OSError as error:
        error.filename = "standard output"
        raise


def complain(line: str, status: int) -> int:
    """Print one line on standard error; return the status."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # where nobody can be told, the status still tells
            print(" ".join(line.splitlines()), file=sys.stderr)
        discard_unwritten(sys.stderr)
    return status


def discard_unwritten(output: TextIO) -> None:
    """Write out what can be; let the rest go, so that Python does not stumble over it while it shuts down."""
    with contextlib.suppress(OSError):
        output.flush()
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
