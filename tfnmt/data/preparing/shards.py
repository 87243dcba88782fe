"""Shards: TFRecords of the ids of a part's pairs, with a description of each that is written last.

A record is a `tf.train.Example` of three lists of integers: "source" and "target", the ids without START and END, and
"lengths", how many there are of each, which can be read without reading the ids.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfnmt.data.preparing.duplicates import read_duplicates
from tfnmt.data.preparing.parts import read_part
from tfnmt.files import atomic_write, file_digest, write_file
from tfnmt.text.tokenizers import Tokenizer

_ENCODED_AT_ONCE = 2048


def write_shard(directory: Path, parts: Path, name: str, place: int, tokenizers: tuple[Tokenizer, Tokenizer]) -> int:
    """Encode a filtered part without duplicates as NAME.tfrecord, and write NAME.json; returns the number of pairs.

    NAME.json has "name", "pairs", "bytes", "blake2b", "duplicates" (pairs that were left out) and "lengths": for each
    combination of lengths that occurs [source length, target length, pairs, the first such record, from 0].

    Args:
        directory: where to.
        parts: the directory of the parts.
        name, place: of the part, and its place among all.
        tokenizers: of both sides.
    """
    table = read_part(parts, name)
    rows = np.setdiff1d(np.arange(len(table)), read_duplicates(parts, place), assume_unique=True)
    counts: Counter[tuple[int, int]] = Counter()
    firsts: dict[tuple[int, int], int] = {}
    path = directory / f"{name}.tfrecord"
    with atomic_write(path) as part, tf.io.TFRecordWriter(str(part)) as writer:
        for number, (source, target) in enumerate(_encoded(table.take(rows), tokenizers)):
            lengths = len(source), len(target)
            counts[lengths] += 1
            firsts.setdefault(lengths, number)
            writer.write(_example(source, target))
    description = {
        "name": path.name,
        "pairs": len(rows),
        "bytes": path.stat().st_size,
        "blake2b": file_digest(path),
        "duplicates": len(table) - len(rows),
        "lengths": [[*lengths, count, firsts[lengths]] for lengths, count in sorted(counts.items())],
    }
    write_file(directory / f"{name}.json", json.dumps(description))
    return len(rows)


def _encoded(table, tokenizers) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The ids of the source and of the target of each pair."""
    for batch in table.to_batches(_ENCODED_AT_ONCE):
        sides = []
        for tokenizer, side in zip(tokenizers, ("source", "target"), strict=True):
            ids = tokenizer.encode(tf.constant(batch[side].to_pylist(), tf.string))
            sides.append(np.split(ids.flat_values.numpy(), ids.row_splits.numpy()[1:-1]))
        yield from zip(*sides, strict=True)


def _example(source: np.ndarray, target: np.ndarray) -> bytes:
    features = {"source": source, "target": target, "lengths": (len(source), len(target))}
    lists = {name: tf.train.Feature(int64_list=tf.train.Int64List(value=ids)) for name, ids in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=lists)).SerializeToString(deterministic=True)
