"""How far a command is that writes a line for each line it reads."""

import contextlib
from pathlib import Path
from typing import TextIO

from tfnmt.data.lines import count_lines
from tfnmt.data.progress import ProgressDisplay

STANDARD_INPUT = "/dev/stdin"


def line_display(
    doing: str, output: TextIO, path: str | Path = STANDARD_INPUT
) -> contextlib.AbstractContextManager[ProgressDisplay | None]:
    """A `ProgressDisplay` of the lines of a file; none where the results appear on a terminal: they tell it.

    Args:
        doing: what is done.
        output: where the results go.
        path: the file.
    """
    return contextlib.nullcontext() if output.isatty() else ProgressDisplay(doing, "lines", count_lines(path))
