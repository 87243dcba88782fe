"""A filtered part of the corpus on disk: its pairs, their hashes, and what was dropped.

NAME.arrow has the pairs that were kept, NAME.hashes.npy their hashes in rising order, uint64, NAME.rows.npy the row of
each hash, and NAME.json the counts. NAME.json is written last: a part without it is not done.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from tfnmt.data.preparing.configuration import FilterConfiguration
from tfnmt.data.preparing.filters import REASONS, decode, outcomes
from tfnmt.data.preparing.inputs import Input, Part, split_sides
from tfnmt.files import atomic_write, write_file

_SHOWN = 100
"""Characters of an example."""


def write_part(directory: Path, files: Input, part: Part, configuration: FilterConfiguration) -> dict:
    """Filter the pairs of a part and write what is kept, with its hashes.

    Args:
        directory: where to.
        files: the input that the part is of.
        part: its lines.
        configuration: which pairs are kept.

    Returns:
        What NAME.json has: "name", and "dropped", reason -> {"pairs": number, "first": the first pair, with file and
        line}; "kept" is among them, without a first.
    """
    lines = split_sides(part)
    (source, source_is_text), (target, target_is_text) = (decode(side) for side in lines)
    found = outcomes(source, target, source_is_text & target_is_text, configuration)
    kept = pa.array(found == 0)
    source, target = source.filter(kept), target.filter(kept)
    line = pa.array(np.flatnonzero(found == 0) + part.first_line)
    table = pa.table({"source": source, "target": target, "line": line})
    with (
        atomic_write(directory / f"{part.name}.arrow") as path,
        pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer,
    ):
        writer.write_table(table)
    hashes = _hashes(source.to_pylist(), target.to_pylist())
    rows = np.argsort(hashes, kind="stable").astype(np.uint32)
    for name, array in (("hashes", hashes[rows]), ("rows", rows)):
        with atomic_write(directory / f"{part.name}.{name}.npy") as path, open(path, "wb") as file:
            np.save(file, array)
    description = {"name": part.name, "dropped": _count(files, part, lines, found)}
    write_file(directory / f"{part.name}.json", json.dumps(description, ensure_ascii=False))
    return description


def read_part(directory: Path, name: str) -> pa.Table:
    """The pairs of a part that the filters kept: columns "source", "target" and "line", counted from 1."""
    with pa.memory_map(str(directory / f"{name}.arrow")) as file:
        return pa.ipc.open_file(file).read_all()


def _hashes(sources, targets):
    """A hash of each pair, uint64 [pairs]; white space makes no difference."""
    texts = (
        "\t".join([" ".join(source.split()), " ".join(target.split())])
        for source, target in zip(sources, targets, strict=True)
    )
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, np.uint64)


def _count(files, part, lines, found):
    counts = {}
    for number, reason in enumerate(REASONS):
        (rows,) = np.nonzero(found == number)
        if not len(rows):
            continue
        counts[reason] = {"pairs": len(rows)}
        if reason != "kept":
            first = int(rows[0])
            texts = [side[first].decode("utf-8", "replace") for side in lines]
            counts[reason]["first"] = example(files, part.first_line + first, *texts)
    return counts


def example(files: Input, line: int, source: str, target: str) -> dict:
    """A pair that was dropped, to show: where it is, and how it begins."""
    return {"file": files.source, "line": line, "source": source[:_SHOWN], "target": target[:_SHOWN]}
