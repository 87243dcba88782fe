"""A sample of the corpus for the tokenizers: the pairs with the smallest hashes, so that no pair is in it twice and
every file has its share.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from tfnmt.data.preparing.duplicates import read_duplicates
from tfnmt.data.preparing.parts import read_part


def sample_of_part(directory: Path, name: str, place: int, share: float) -> pa.Table:
    """The pairs of a part that belong to a sample.

    Args:
        directory: of the parts.
        name: of the part.
        place: of the part among all.
        share: of all pairs that the sample is to have, from 0 to 1.

    Returns:
        Its pairs, in the order of the part.
    """
    hashes = np.load(directory / f"{name}.hashes.npy", mmap_mode="r")
    limit = len(hashes) if share >= 1 else int(np.searchsorted(hashes, np.uint64(share * 2**64)))
    rows = np.sort(np.load(directory / f"{name}.rows.npy", mmap_mode="r")[:limit]).astype(np.int64)
    rows = np.setdiff1d(rows, read_duplicates(directory, place), assume_unique=True)
    return read_part(directory, name).take(pa.array(rows))
