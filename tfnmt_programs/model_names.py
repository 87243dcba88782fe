"""What models and files are called where several stand side by side."""

from collections.abc import Sequence
from pathlib import Path


def distinct_names(paths: Sequence[str | Path]) -> list[str]:
    """The last part of each path, with as many of those before it as tell it from other paths.

    >>> distinct_names(["runs/a/model", "runs/b/model", "runs/c"])
    ['a/model', 'b/model', 'c']
    """
    places = [Path(path).resolve().parts for path in paths]
    different = set(places)

    def name(parts):
        count = 1
        while sum(other[-count:] == parts[-count:] for other in different) > 1:
            count += 1
        return "/".join(parts[-count:])

    return [name(parts) for parts in places]
