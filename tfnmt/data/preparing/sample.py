"""A sample of the corpus for the tokenizers, drawn at random, in which every file has its share."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from tfnmt.data.preparing.duplicates import read_duplicates
from tfnmt.data.preparing.parts import read_part


def sample_of_part(directory: Path, name: str, place: int, share: float, seed: int) -> pa.Table:
    """The pairs of a part that belong to a sample, those that are duplicates left out.

    Args:
        directory: of the parts.
        name: of the part.
        place: of the part among all.
        share: of the pairs that the sample is to have, from 0 to 1.
        seed: of the draw; each part has its own numbers.

    Returns:
        Its pairs, in the order of the part.
    """
    table = read_part(directory, name)
    rows = np.flatnonzero(np.random.default_rng([seed, place]).random(len(table)) < share)
    rows = np.setdiff1d(rows, read_duplicates(directory, place), assume_unique=True)
    return table.take(pa.array(rows))
