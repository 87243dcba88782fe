"""Pretrained word vectors for the words of a vocabulary: GloVe's text files, or .npy with vocab.txt."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfnmt.data.lines import count_lines, read_lines
from tfnmt.data.progress import log_progress
from tfnmt.errors import UserError
from tfnmt.text.tokenizer import SPECIAL_TOKENS
from tfnmt.text.tokenizers import PADDING, WordTokenizer

UNKNOWN_SCALE = 0.05
"""Words without a pretrained vector get uniform random values up to this. GloVe's own are about ten times as large."""

HEADER = re.compile(r"\d+ \d+")
"""The first line of word2vec's and fastText's files: how many words there are, and how many values each has."""


@dataclass(frozen=True)
class Coverage:
    """How much of a vocabulary has vectors; `str()` gives one line."""

    words: int
    """Words of the vocabulary."""
    found: int
    """Words with a vector."""
    occurrences: int
    """Occurrences of all words in the text."""
    found_occurrences: int
    """Occurrences of words with a vector."""

    def __str__(self) -> str:
        share = 100 * self.found_occurrences / max(1, self.occurrences)
        return f"vectors for {self.found:,} of {self.words:,} words, {share:.1f}% of the text"


def read_vectors(
    path: str | Path, tokenizer: WordTokenizer, seed: int, word_counts: Mapping[str, int] | None = None
) -> tuple[np.ndarray, Coverage]:
    """The embedding matrix of a vocabulary.

    Args:
        path: a text file, also .gz, with `word value value ...` on each line, as GloVe's, or after a line of how many
            words and values there are, as word2vec's and fastText's; or a .npy file of floats
            [words, size] with vocab.txt beside it, whose line i is the word of row i. It is streamed: only vectors of
            the vocabulary are kept in memory. For a word that occurs twice, the first vector is used.
        tokenizer: of the vocabulary.
        seed: of the small random vectors of words that are not in the file.
        word_counts: how often each word occurs in the text (`ExampleDataset.word_counts`); without it, every word of
            the vocabulary counts once.

    Returns:
        (float32 [vocabulary_size, size] with zeros for PADDING, the `Coverage`).

    Raises:
        UserError: a file cannot be read, or a line is wrong (names it).
    """
    path = Path(path)
    ids = {word: i for i, word in enumerate(tokenizer.vocabulary(), start=len(SPECIAL_TOKENS))}
    read = _read_array if path.suffix == ".npy" else _read_text
    matrix, found = None, np.zeros(tokenizer.vocabulary_size, bool)
    for word, vector in read(path, ids):
        if matrix is None:
            size = (tokenizer.vocabulary_size, len(vector))
            matrix = np.random.default_rng(seed).uniform(-UNKNOWN_SCALE, UNKNOWN_SCALE, size).astype(np.float32)
            matrix[PADDING] = 0
        if not found[ids[word]]:
            matrix[ids[word]] = vector
            found[ids[word]] = True
    if matrix is None:
        raise UserError(f"{path}: has no vector for any of the {len(ids):,} words of the vocabulary")
    counts = word_counts or dict.fromkeys(ids, 1)
    ids_in_text = tokenizer.encode(tf.constant(list(counts))).flat_values.numpy()
    occurrences = np.bincount(ids_in_text, list(counts.values()), tokenizer.vocabulary_size).astype(int)
    return matrix, Coverage(len(ids), int(found.sum()), int(occurrences.sum()), int(occurrences[found].sum()))


def vectors_size(path: str | Path) -> int:
    """The size of the vectors in a file; its format and errors are those of `read_vectors`."""
    path = Path(path)
    if path.suffix == ".npy":
        return _load(path).shape[1]
    for line in itertools.islice(read_lines(path), 2):
        if HEADER.fullmatch(line.rstrip(" ")):
            continue
        if size := line.rstrip(" ").count(" "):
            return size
        break
    raise UserError(f"{path}, line 1: must be a word and the values of its vector")


def _read_text(path: Path, vocabulary: Mapping[str, int]) -> Iterator[tuple[str, np.ndarray]]:
    """The words of the vocabulary in the file, with their vectors. GloVe's words that contain spaces are
    skipped, of which none may be the first."""
    size = None
    lines = log_progress(read_lines(path), f"{path}, reading", count_lines(path))
    for number, line in enumerate(lines, start=1):
        line = line.rstrip(" ")
        if number == 1 and HEADER.fullmatch(line):
            continue
        word, _, rest = line.partition(" ")
        values = rest.count(" ") + 1 if rest else 0
        if size is None:
            size = values
        if size == 0:
            raise UserError(f"{path}, line {number}: 0 values after the word; there are to be spaces between them")
        if values < size:
            raise UserError(f"{path}, line {number}: {values} values after the word, but the first has {size}")
        if word in vocabulary and values == size:
            try:
                with np.errstate(over="ignore"):
                    vector = np.array(rest.split(" "), np.float64).astype(np.float32)
            except ValueError as error:
                raise UserError(f"{path}, line {number}: the values after the word are not all numbers") from error
            _require_finite(vector, path, number)
            yield word, vector


def _read_array(path: Path, vocabulary: Mapping[str, int]) -> Iterator[tuple[str, np.ndarray]]:
    rows = _load(path)
    words_file = path.with_name("vocab.txt")
    words = list(read_lines(words_file))
    if len(words) != len(rows):
        raise UserError(f"{words_file}: {len(words):,} words for {len(rows):,} rows of {path.name}")
    for number, (word, row) in enumerate(zip(words, rows, strict=True), start=1):
        if word in vocabulary:
            with np.errstate(over="ignore"):
                vector = row.astype(np.float32)
            _require_finite(vector, path, number)
            yield word, vector


def _load(path: Path) -> np.ndarray:
    """The array [words, size], memory-mapped."""
    try:
        rows = np.lib.format.open_memmap(path, mode="r")  # takes no archives and no pickles, as np.load would
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # a broken header makes NumPy raise errors of many types
        raise UserError(f"{path}: not a NumPy array: {error}") from error
    if rows.ndim != 2 or rows.dtype.kind != "f" or not rows.shape[1]:
        raise UserError(
            f"{path}: holds {rows.dtype} {list(rows.shape)}; it must be floats [words, size]; size is 1 or more"
        )
    return rows


def _require_finite(vector: np.ndarray, path: Path, number: int) -> None:
    if not np.isfinite(vector).all():
        raise UserError(f"{path}, {'row' if path.suffix == '.npy' else 'line'} {number}: a value is not finite")
