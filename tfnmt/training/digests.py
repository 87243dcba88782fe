"""Digests of files, by which one that has changed is known; digests.json has those of a model directory's files."""

import json
from pathlib import Path

from tfnmt.errors import UserError
from tfnmt.files import digest, file_digest, read_json, write_file

DIGESTS = "digests.json"


def write_with_digest(path: str | Path, content: bytes | memoryview) -> None:
    """Write a file whole or not at all, and its digest to digests.json beside it.

    A kill may come between the two. So the new digest is written first, beside that of the file that is there.

    Raises:
        UserError: the file system refuses, for example because it is full.
    """
    path = Path(path)
    digests = _read_digests(path.parent)
    there = {file_digest(path)} if path.exists() else set()
    digests[path.name] = [digest(content).hexdigest(), *there.intersection(digests.get(path.name, []))]
    write_file(path.with_name(DIGESTS), json.dumps(digests, indent=2) + "\n")
    write_file(path, content)


def check_digests(directory: str | Path, *unchecked: str) -> None:
    """Check that the files of a directory are as they were written. Without digests.json, nothing is checked.

    Args:
        directory: the directory.
        unchecked: names of files that are not checked.

    Raises:
        UserError: a file has changed.
    """
    for name, digests in _read_digests(directory).items():
        path = Path(directory, name)
        if name not in unchecked and path.exists() and file_digest(path) not in digests:
            raise UserError(
                f"{path}: has changed since it was written; put the right one back or, if the change is meant, delete"
                f" {Path(directory, DIGESTS)}"
            )


def is_as_written(path: Path) -> bool:
    """Whether a file that is there is as it was written; also where digests.json does not say how that was."""
    digests = _read_digests(path.parent).get(path.name)
    return digests is None or file_digest(path) in digests


def _read_digests(directory):
    """Name of a file -> its digest and the one before it."""
    path = Path(directory, DIGESTS)
    if not path.exists():
        return {}
    advice = "delete it to have nothing checked"
    digests = read_json(path, advice)
    if not isinstance(digests, dict) or not all(isinstance(of_file, list) for of_file in digests.values()):
        raise UserError(f"{path}: is broken (no lists of digests); {advice}")
    return digests
