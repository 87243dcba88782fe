"""Batches of sentence pairs with trees to measure on: random ones, or from files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tfnmt.data.example_batches import example_arrays, training_batches
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.examples import Example, Sentence
from tfnmt.data.tasks import TASKS
from tfnmt.errors import UserError
from tfnmt.text.brackets import REDUCE, SHIFT
from tfnmt.text.tokenizer import SPECIAL_TOKENS
from tfnmt.text.tokenizers import WordTokenizer

Batch = tuple[dict[str, np.ndarray], np.ndarray]
"""(sentences, labels) as `tfnmt.data.example_batches` makes them."""

# Mean and standard deviation of the lengths in SNLI's training pairs: of first and of second sentences.
SNLI_LENGTHS = ((14.0, 6.0), (8.3, 3.2))
VOCABULARY_SIZE = 10_000
POOL = 40
"""Times as many pairs as are wanted, of which batches are made, so that lengths in a batch differ as little as they do
in a large corpus."""


def random_transitions(words: int, random: np.random.Generator) -> list[int]:
    """The transitions of a tree of so many words, in which every phrase is split at a random place."""
    if words == 1:
        return [SHIFT]
    left = random.integers(1, words)
    return [*random_transitions(left, random), *random_transitions(words - left, random), REDUCE]


def random_batches(batch_size: int, count: int, seed: int) -> list[Batch]:
    """Batches of pairs as long as SNLI's: random words in random trees."""
    random = np.random.default_rng(seed)
    pairs = POOL * batch_size * count
    lengths = np.stack([random_lengths(mean, deviation, pairs, random) for mean, deviation in SNLI_LENGTHS], axis=1)
    by_length = lengths[np.argsort(lengths.max(axis=1), kind="stable")].reshape(pairs // batch_size, batch_size, 2)
    chosen = random.permutation(by_length[POOL // 2 :: POOL])  # evenly from short to long, so that few stand for all
    return [_random_batch(of_pairs, random) for of_pairs in chosen]


def equally_long_batches(words: int, length: int, count: int, seed: int) -> list[Batch]:
    """The same of pairs in which every sentence has `length` words, so many pairs that a batch has `words` words."""
    random = np.random.default_rng(seed)
    lengths = np.full([max(1, words // (2 * length)), 2], length)
    return [_random_batch(lengths, random) for _ in range(count)]


def batches_of_file(
    path: str | Path, task: str, batch_size: int, count: int, seed: int
) -> tuple[list[Batch], WordTokenizer]:
    """Some full batches of those that training on a file has, and the `WordTokenizer` of its words.

    Raises:
        UserError: the file is not as it should be, has no pairs, or too few.
    """
    if TASKS[task].sentences != 2:
        raise UserError(f"--task {task}: has no pairs of sentences")
    examples = ExampleDataset(TASKS[task], path)
    tokenizer = WordTokenizer.from_counts(examples.word_counts)
    dataset = training_batches(examples, tokenizer, batch_size, seed)
    full = [batch for batch in dataset.as_numpy_iterator() if len(batch[1]) == batch_size][:count]
    if len(full) < count:
        raise UserError(f"{path}: has {len(full)} full batches of {batch_size} pairs, fewer than {count}")
    return full, tokenizer


def single_pairs(batches: Sequence[Batch]) -> list[Batch]:
    """The pairs of the batches, each as a batch of its own."""
    return [_pair(sentences, labels, i) for sentences, labels in batches for i in range(len(labels))]


def random_lengths(mean: float, deviation: float, count: int, random: np.random.Generator) -> np.ndarray:
    """Numbers of words of so many sentences: int [count], 2 or more, with that mean and standard deviation."""
    drawn = random.gamma((mean / deviation) ** 2, deviation**2 / mean, count)
    return np.maximum(2, np.rint(drawn).astype(int))


def _random_batch(lengths, random):
    """One of pairs of those lengths, int [pairs, 2]."""
    examples = [
        Example(tuple(Sentence([""] * n, random_transitions(n, random)) for n in pair), int(random.integers(3)))
        for pair in lengths
    ]
    sentences, labels = example_arrays(examples)
    counts = lengths.T.reshape(-1, 1)  # all first sentences, then all second ones
    ids = random.integers(len(SPECIAL_TOKENS), VOCABULARY_SIZE, [len(counts), counts.max()])
    sentences["words"] = np.where(np.arange(counts.max()) < counts, ids, 0).astype(np.int32)
    return sentences, labels


def _pair(sentences, labels, i):
    pair = {name: array[[i, len(labels) + i]] for name, array in sentences.items()}
    words, steps = ((pair[name] != 0).sum(axis=1).max() for name in ("words", "transitions"))
    pair = {name: array[:, : words if name == "words" else steps] for name, array in pair.items()}
    return pair, labels[i : i + 1]
