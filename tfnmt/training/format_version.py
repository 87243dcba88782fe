"""The version of the format of model directories, in config.json. This file needs no TensorFlow."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tfnmt
from tfnmt.errors import UserError

FORMAT = 1
"""What this version of the library writes. It reads this one and all before it: see CHANGELOG.md."""
KEY = "format"


def check_format(description: Mapping[str, Any], path: str | Path) -> None:
    """Raise `UserError` unless this version of the library reads a config.json of that format.

    Args:
        description: what is in it; one of before there were versions has none, and is of format 1.
        path: of the file, for the message.
    """
    version = description.get(KEY, 1)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UserError(f"{path}: {KEY}={version}: allowed is a whole number from 1 to {FORMAT}")
    if version > FORMAT:
        raise UserError(
            f"{path}: a newer tfnmt has written this model directory, in format {version}; tfnmt {tfnmt.__version__}"
            f" reads up to format {FORMAT}: install a newer one"
        )
