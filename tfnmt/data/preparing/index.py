"""The index of records, put together from what the passes have written of each part and shard."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfnmt.data.preparing.duplicates import first_duplicate
from tfnmt.data.preparing.filters import REASONS
from tfnmt.data.preparing.inputs import Input
from tfnmt.data.preparing.parts import example, read_part
from tfnmt.data.records import INDEX, VERSION
from tfnmt.files import file_digest, write_file
from tfnmt.text.tokenizer_configuration import TextConfiguration


def filtered_parts(parts: Path) -> list[dict[str, Any]]:
    """What `write_part` has written of each part, in the order of the corpus."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(parts.glob("?????-??????.json"))]


def write_index(directory: Path, parts: Path, inputs: Sequence[Input], text: TextConfiguration) -> None:
    """Write index.json, once the shards of all parts and the tokenizers are there.

    Args:
        directory: of the shards and the tokenizers.
        parts: of the filtered parts.
        inputs: what they are parts of.
        text: how the tokenizers were made.
    """
    filtered = filtered_parts(parts)
    names = [part["name"] for part in filtered]
    shards = [json.loads((directory / f"{name}.json").read_text(encoding="utf-8")) for name in names]
    files = [directory / f"{name}{end}" for name in ("source", "target") for end in (".json", ".model", ".txt")]
    index = {
        "version": VERSION,
        "pairs": sum(shard["pairs"] for shard in shards),
        "shards": [
            {key: shard[key] for key in ("name", "pairs", "bytes", "blake2b")} for shard in shards if shard["pairs"]
        ],
        "text": text.model_dump(mode="json"),
        "tokenizers": {path.name: file_digest(path) for path in files if path.exists()},
        "counts": _counts(parts, inputs, filtered, shards),
        "lengths": _lengths(shards),
    }
    write_file(directory / INDEX, json.dumps(index, ensure_ascii=False) + "\n")


def _counts(parts, inputs, filtered, shards):
    """Reason -> the pairs that were dropped for it, and the first of them."""
    counts: dict[str, Any] = {reason: {"pairs": 0} for reason in REASONS}
    for part in filtered:
        for reason, of_part in part["dropped"].items():
            counts[reason]["pairs"] += of_part["pairs"]
            if "first" in of_part:
                counts[reason].setdefault("first", of_part["first"])
    duplicates = sum(shard["duplicates"] for shard in shards)
    counts["kept"]["pairs"] -= duplicates
    if duplicates:
        place, row = first_duplicate(parts)
        name = filtered[place]["name"]
        pair = read_part(parts, name).slice(row, 1).to_pylist()[0]
        files = inputs[int(name.split("-")[0])]
        counts["duplicate"] = {"pairs": duplicates, "first": example(files, **pair)}
    return {reason: count for reason, count in counts.items() if count["pairs"]}


def _lengths(shards):
    """The lengths of all shards; the first pair of each combination counted through the shards."""
    merged: dict[tuple[int, int], list[int]] = {}
    before = 0
    for shard in shards:
        for source, target, pairs, first in shard["lengths"]:
            merged.setdefault((source, target), [0, before + first])[0] += pairs
        before += shard["pairs"]
    return [[*lengths, *counts] for lengths, counts in sorted(merged.items())]
