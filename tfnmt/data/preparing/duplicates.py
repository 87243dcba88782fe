"""Pairs that were there before, found by their hashes on disk, a range of hash values at a time.

Equal pairs have equal hashes, so they are in the same range, whatever parts they are in. Each part's hashes are sorted,
so that a range is a slice of the file. With hashes of 64 bits, the pairs wrongly taken for duplicates are, of n
different pairs, n² / 2^65 in the mean: 0.002 of 250 million.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tfnmt.files import atomic_write

PAIRS_AT_ONCE = 4_000_000
"""About so many pairs' hashes are looked at in one go, which takes 200 MB."""


def find_duplicates(directory: Path, parts: Sequence[str], number: int, ranges: int) -> Path:
    """Find the pairs that are duplicates of earlier ones, of those with hashes in a range.

    Args:
        directory: of the parts; the result is written there.
        parts: the names of all parts, in the order of the corpus.
        number: of the range, from 0.
        ranges: how many ranges of equal size there are.

    Returns:
        The file written: uint64 in rising order, the place of a part among `parts` times 2^32, plus a row of it.
    """
    found, places = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
    for place, name in enumerate(parts):
        hashes = np.load(directory / f"{name}.hashes.npy", mmap_mode="r")
        of_range = slice(*(_position(hashes, n, ranges) for n in (number, number + 1)))
        found.append(np.array(hashes[of_range]))
        rows = np.load(directory / f"{name}.rows.npy", mmap_mode="r")[of_range]
        places.append((np.uint64(place) << np.uint64(32)) + rows.astype(np.uint64))
    hashes = np.concatenate(found)
    order = np.argsort(hashes, kind="stable")  # so that of equal pairs the first in the corpus comes first
    hashes = hashes[order]
    duplicates = np.concatenate(places)[order[1:][hashes[1:] == hashes[:-1]]]
    path = directory / f"duplicates-{number:05}.npy"
    with atomic_write(path) as part, open(part, "wb") as file:
        np.save(file, np.sort(duplicates))
    return path


def read_duplicates(directory: Path, place: int) -> np.ndarray:
    """The rows, in rising order, of the part at this place that are duplicates of earlier pairs."""
    rows = [np.empty(0, np.uint64)]
    for path in sorted(directory.glob("duplicates-*.npy")):
        duplicates = np.load(path, mmap_mode="r")
        begin, end = np.searchsorted(duplicates, np.array([place, place + 1], np.uint64) << np.uint64(32))
        rows.append(duplicates[begin:end] & np.uint64(2**32 - 1))
    return np.sort(np.concatenate(rows)).astype(np.int64)


def count_duplicates(directory: Path) -> int:
    """How many pairs are duplicates of earlier ones."""
    return sum(len(np.load(path, mmap_mode="r")) for path in directory.glob("duplicates-*.npy"))


def first_duplicate(directory: Path) -> tuple[int, int] | None:
    """(place of its part, row) of the first pair in the corpus that is a duplicate; None if there is none."""
    firsts = [
        int(found[0]) for path in directory.glob("duplicates-*.npy") if len(found := np.load(path, mmap_mode="r"))
    ]
    return divmod(min(firsts), 2**32) if firsts else None


def _position(hashes, number, ranges):
    """Where a range begins in sorted hashes."""
    if number == ranges:
        return len(hashes)
    return int(np.searchsorted(hashes, np.uint64(2**64 * number // ranges)))
