"""How fast a large file of sentence pairs with trees becomes batches, and how little of it is held in memory."""

import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from tfnmt.data.example_batches import training_batches
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.text.brackets import to_brackets
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt_programs.benchmarks.tree_batches import SNLI_LENGTHS, random_lengths, random_transitions
from tfnmt_programs.measuring import memory_growth, reset_peak_memory, resident_memory

DIFFERENT = 20_000
"""Pairs of a generated file that differ; further ones are the same again."""


def write_pairs(path: str | Path, count: int, seed: int = 1) -> None:
    """Write a file in SNLI's format, of random words in random trees as long as SNLI's."""
    random = np.random.default_rng(seed)
    lengths = np.stack([random_lengths(*side, min(count, DIFFERENT), random) for side in SNLI_LENGTHS], axis=1)
    lines = []
    for pair in lengths:
        trees = [
            to_brackets([f"w{i}" for i in random.integers(10_000, size=n)], random_transitions(n, random)) for n in pair
        ]
        label = ("entailment", "neutral", "contradiction")[random.integers(3)]
        parses = {f"sentence{i}_binary_parse": tree for i, tree in enumerate(trees, start=1)}
        lines.append(json.dumps({"gold_label": label} | parses) + "\n")
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            file.write(lines[i % len(lines)])


def reading_speed(path: str | Path, task: str, batch_size: int, batches: int) -> dict[str, Any]:
    """Read a file of examples as training does.

    Args:
        path: the file.
        task: a key of `TASKS`.
        batch_size: examples in a batch.
        batches: how many are timed.

    Returns:
        A dictionary of figures: the seconds of the first reading, which checks every tree and counts words, those from
        then to the first batch, and batches and examples a second after it; and by how many bytes the process has
        grown.

    Raises:
        UserError: the first batch is the only one.
    """
    reset_peak_memory()
    before, start = resident_memory(), time.perf_counter()
    examples = ExampleDataset(TASKS[task], path)
    checked = time.perf_counter()
    tokenizer = WordTokenizer.from_counts(examples.word_counts)
    iterator = iter(training_batches(examples, tokenizer, batch_size, seed=1))
    next(iterator)
    first = time.perf_counter()
    sizes = [len(labels) for _, labels in itertools.islice(iterator, batches)]
    seconds = time.perf_counter() - first
    if not sizes:
        raise UserError(f"{path}: {len(examples)} examples are one batch; take more of them, or a smaller --batch-size")
    return {
        "examples": len(examples),
        "file_bytes": Path(path).stat().st_size,
        "seconds_of_check": checked - start,
        "seconds_to_first_batch": first - checked,
        "batches_per_second": len(sizes) / seconds,
        "examples_per_second": sum(sizes) / seconds,
        "memory_growth": memory_growth(before),
    }
