"""The one exception for whatever the user got wrong, and a help for its messages."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something only the user can put right.

    The message is one line: what was wrong, where (file, line number, key or shape), and the way out. Scripts
    print it on standard error and exit with status 2, without a traceback.
    """


def nearest_name(name: str, known: Iterable[str]) -> str:
    """For the end of a message about an unknown name: "; the nearest is 'units'", or nothing if none is known."""
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"; the nearest is {nearest[0]!r}" if nearest else ""
