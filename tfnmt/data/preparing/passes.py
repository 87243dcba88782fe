"""The passes over a corpus, each a stream of Ray Data. What a pass has written is not done again.

1. Filter: inputs → parts on disk, with the hashes of their pairs. One process reads an input, others filter its parts.
2. Duplicates: ranges of hashes → the rows that are duplicates.
3. Sample: parts → the text that the tokenizers are made from.
4. Encode: parts → shards.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from tfnmt.data.lines import count_lines
from tfnmt.data.preparing.configuration import FilterConfiguration
from tfnmt.data.preparing.duplicates import PAIRS_AT_ONCE, find_duplicates
from tfnmt.data.preparing.inputs import Input, Part, read_parts
from tfnmt.data.preparing.parts import write_part
from tfnmt.data.preparing.sample import sample_of_part
from tfnmt.data.progress import log_counts
from tfnmt.errors import UserError
from tfnmt.files import atomic_write, write_file

_LARGEST_BLOCK = 32 * 2**20
"""Bytes of a block on its way from one process to another."""


def filter_inputs(
    ray: ModuleType, inputs: Sequence[Input], parts: Path, configuration: FilterConfiguration, lines: int
) -> None:
    """Pass 1: write the parts of all inputs, each of so many lines.

    Raises:
        UserError: parts are missing in the end.
    """
    left = [files for files in inputs if not _is_filtered(parts, files)]
    if not left:
        return
    ray.data.DataContext.get_current().target_max_block_size = _LARGEST_BLOCK
    rows = ray.data.from_items([{"place": place} for place in range(len(left))], override_num_blocks=len(left))
    # Ray reads an input again if the process that read it has died, and leaves out as many parts as it has had before:
    # so what is done already must not be found out by each attempt anew.
    done = frozenset(path.stem for path in parts.glob("?????-??????.json"))
    # Another share of a processor than filtering takes keeps Ray from doing both in one process.
    read = rows.map_batches(
        functools.partial(_read, left, parts, done, lines), batch_size=1, batch_format="pyarrow", num_cpus=0.5
    )
    written = read.map_batches(
        functools.partial(_filter, inputs, parts, configuration), batch_size=1, batch_format="pyarrow", num_cpus=1
    )
    counts = [count_lines(files.source) for files in left]
    _log(written.iter_rows(), "filtering", None if None in counts else sum(filter(None, counts)))
    for files in left:
        if not _is_filtered(parts, files):
            raise UserError(f"{files.source}: not all of it has been filtered; give the same command again")


def mark_duplicates(ray: ModuleType, parts: Path, names: Sequence[str], pairs: int) -> None:
    """Pass 2: write which rows of the parts are duplicates."""
    ranges = pairs // PAIRS_AT_ONCE + 1
    left = [number for number in range(ranges) if not (parts / f"duplicates-{number:05}.npy").exists()]
    if not left:
        return

    def find(row: dict[str, Any]) -> dict[str, Any]:
        find_duplicates(parts, names, row["number"], ranges)
        return {"pairs": pairs // ranges}

    rows = ray.data.from_items([{"number": number} for number in left], override_num_blocks=len(left))
    _log(rows.map(find, num_cpus=1).iter_rows(), "finding duplicates", pairs // ranges * len(left))


def write_sample(ray: ModuleType, parts: Path, names: Sequence[str], share: float, seed: int) -> tuple[Path, Path]:
    """Pass 3: write a share of the pairs that are no duplicates, in the order of the corpus.

    Returns:
        The files of both sides.
    """
    source, target = parts / "sample.source", parts / "sample.target"
    if target.exists():
        return source, target

    def draw(row: dict[str, Any]) -> dict[str, Any]:
        table = sample_of_part(parts, names[row["place"]], row["place"], share, seed)
        sides = {side: "".join(f"{line}\n" for line in table[side].to_pylist()) for side in ("source", "target")}
        return sides | {"pairs": len(table)}

    ray.data.DataContext.get_current().execution_options.preserve_order = True
    rows = ray.data.from_items([{"place": place} for place in range(len(names))], override_num_blocks=len(names))
    with (
        atomic_write(target) as target_part,
        atomic_write(source) as source_part,  # in place before the target is
        open(source_part, "w", encoding="utf-8") as sources,
        open(target_part, "w", encoding="utf-8") as targets,
    ):
        for row in rows.map(draw, num_cpus=1).iter_rows():
            sources.write(row["source"])
            targets.write(row["target"])
    ray.data.DataContext.get_current().execution_options.preserve_order = False
    return source, target


def encode_parts(ray: ModuleType, directory: Path, parts: Path, names: Sequence[str], pairs: int, joint: bool) -> None:
    """Pass 4: write the shards of all parts, of so many pairs, with the tokenizers in a directory, by a process for
    each processor."""
    left = [place for place, name in enumerate(names) if not (directory / f"{name}.json").exists()]
    if not left:
        return
    rows = ray.data.from_items(
        [{"place": place, "name": names[place]} for place in left], override_num_blocks=len(left)
    )
    written = rows.map(functools.partial(_encode, directory, parts, joint), num_cpus=1)
    _log(written.iter_rows(), "encoding", pairs * len(left) // len(names))


def _encode(directory: Path, parts: Path, joint: bool, row: dict[str, Any]) -> dict[str, Any]:
    """Write a shard; returns the number of its pairs."""
    from tfnmt.data.preparing.shards import write_shard

    tokenizers = _tokenizers(directory, joint)
    return {"pairs": write_shard(directory, parts, row["name"], row["place"], tokenizers)}


@functools.cache
def _tokenizers(directory: Path, joint: bool) -> Any:
    """The tokenizers, loaded once in a process. It has one thread, since there is a process for every processor."""
    from tfnmt.text.tokenizers import load_tokenizer
    from tfnmt.threads import use_threads

    use_threads(1)
    source = load_tokenizer(directory, "source")
    return source, source if joint else load_tokenizer(directory, "target")


def _is_filtered(parts, files):
    """Whether all parts of an input are written: the reader has left their number."""
    path = parts / f"input-{files.number:05}.txt"
    return path.exists() and all(
        (parts / f"{files.part_name(part)}.json").exists() for part in range(int(path.read_text()))
    )


def _read(
    inputs: Sequence[Input], parts: Path, done: frozenset[str], lines: int, batch: pa.Table
) -> Iterator[pa.Table]:
    """A batch of one input -> its parts but those that are done, a row each."""
    files = inputs[batch["place"][0].as_py()]
    number = 0
    for part in read_parts(files, lines):
        number += 1
        if part.name not in done:
            values = {"input": files.number, **part._asdict()}
            yield pa.table({name: pa.array([value], _PART_TYPES[name]) for name, value in values.items()})
    write_file(parts / f"input-{files.number:05}.txt", str(number))


_PART_TYPES = {
    "input": pa.int64(),
    "name": pa.string(),
    "first_line": pa.int64(),
    "source": pa.large_binary(),
    "target": pa.large_binary(),
}


def _filter(inputs: Sequence[Input], parts: Path, configuration: FilterConfiguration, batch: pa.Table) -> pa.Table:
    """A batch of one part -> the number of its pairs, when it is written."""
    (row,) = batch.to_pylist()
    files = inputs[row.pop("input")]
    counts = write_part(parts, files, Part(**row), configuration)["dropped"]
    return pa.table({"pairs": [sum(count["pairs"] for count in counts.values())]})


def _log(rows: Iterable[dict[str, Any]], doing: str, pairs: int | None) -> None:
    """Take all rows, of so many pairs in all, and tell how far that is."""
    for _ in log_counts(rows, doing, "pairs", lambda row: row["pairs"], pairs):
        pass
