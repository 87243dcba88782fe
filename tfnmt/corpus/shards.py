"""Shards: so many lines of a file, worked on by one process at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tfnmt.data.lines import batch_lines, open_lines, whole_lines


class Shard(NamedTuple):
    """Lines of a file."""

    file: str
    """The file's name."""
    number: int
    """Of the shard in its file, counted from 0."""
    first: int
    """How many lines of the file come before it."""
    lines: list[bytes]
    """The lines, with their ends, as they are in the file."""


class Result(NamedTuple):
    """What is written for a shard."""

    file: str
    number: int
    lines: int
    """How many lines the shard has."""
    text: bytes
    """What goes to the output file, UTF-8."""
    problems: list[str]
    """"line 17: what is wrong with it", for some of its lines, counted from 1 in the file."""


def read_shards(path: Path, size: int) -> Iterator[Shard]:
    """The shards of a file, plain, .gz or .zst, of `size` lines each, the last one shorter.

    Raises:
        UserError: the file cannot be read or is broken. Shards that were read whole before that are given first.
    """
    with open_lines(path) as file:
        for number, lines in enumerate(batch_lines(whole_lines(file), size)):
            yield Shard(path.name, number, number * size, lines)
