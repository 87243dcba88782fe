"""Word vectors learned elsewhere, for the words of a vocabulary: GloVe's text files, or .npy with vocab.txt."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfnmt.data.lines import read_lines
from tfnmt.errors import UserError
from tfnmt.text.tokenizer import SPECIAL_WORDS
from tfnmt.text.tokenizers import PADDING, WordTokenizer

# Words without a vector get one of random numbers up to this. GloVe's own are about ten times as large.
UNKNOWN_SCALE = 0.05


@dataclass(frozen=True)
class Coverage:
    """How much of a vocabulary has vectors; `str()` says so in one line."""

    words: int
    """In the vocabulary."""
    found: int
    """Of them, those with a vector."""
    occurrences: int
    """Of any words in the text."""
    found_occurrences: int
    """Of those with a vector."""

    def __str__(self) -> str:
        share = 100 * self.found_occurrences / max(1, self.occurrences)
        return f"vectors for {self.found:,} of {self.words:,} words, {share:.1f}% of the text"


def read_vectors(
    path: str | Path, tokenizer: WordTokenizer, seed: int, word_counts: Mapping[str, int] | None = None
) -> tuple[np.ndarray, Coverage]:
    """The matrix of an embedding.

    Args:
        path: a text file, also .gz, of `word number number ...` a line, as GloVe's; or a .npy file of numbers
            [words, size] with vocab.txt beside it, whose line i is the word of row i. Streamed: only the vectors of
            the vocabulary are held. Of a word that comes twice the first counts.
        tokenizer: its vocabulary is looked up as it stands (lowercased if it is).
        seed: of the small random vectors that the other words get.
        word_counts: how often each word stands in the text (`ExampleDataset.word_counts`); without it, every word of
            the vocabulary counts once.

    Returns:
        (float32 [vocabulary_size, size] with zeros for PADDING, how much was found).

    Raises:
        UserError: a file cannot be read, or a line has too few numbers, or something else (names the line).
    """
    path = Path(path)
    ids = {word: number for number, word in enumerate(tokenizer.vocabulary(), start=len(SPECIAL_WORDS))}
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
        raise UserError(f"{path}: not one of the {len(ids):,} words of the vocabulary has a vector there")
    counts = word_counts or dict.fromkeys(ids, 1)
    ids_in_text = tokenizer.encode(tf.constant(list(counts))).flat_values.numpy()
    occurrences = np.bincount(ids_in_text, list(counts.values()), tokenizer.vocabulary_size).astype(int)
    return matrix, Coverage(len(ids), int(found.sum()), int(occurrences.sum()), int(occurrences[found].sum()))


def vectors_size(path: str | Path) -> int:
    """How many numbers a vector of the file has; its form and errors as for `read_vectors`."""
    path = Path(path)
    if path.suffix == ".npy":
        return _load(path).shape[1]
    for line in read_lines(path):
        size = line.rstrip(" ").count(" ")
        if size:
            return size
        break
    raise UserError(f"{path}, line 1: not a word and numbers after it")


def _read_text(path: Path, wanted: Mapping[str, int]) -> Iterator[tuple[str, np.ndarray]]:
    """Words that are wanted, with their vectors. GloVe has words with spaces in them: never wanted, and passed over."""
    size = None
    for number, line in enumerate(read_lines(path), start=1):
        line = line.rstrip(" ")
        word, _, rest = line.partition(" ")
        numbers = rest.count(" ") + 1 if rest else 0
        if size is None:
            size = numbers
        if numbers < size or size == 0:
            raise UserError(f"{path}, line {number}: {numbers} numbers after the word, where line 1 has {size}")
        if word in wanted and numbers == size:
            try:
                vector = np.array(rest.split(" "), np.float32)
            except ValueError as error:
                raise UserError(f"{path}, line {number}: not all that follows the word is numbers") from error
            _require_finite(vector, path, number)
            yield word, vector


def _read_array(path: Path, wanted: Mapping[str, int]) -> Iterator[tuple[str, np.ndarray]]:
    rows = _load(path)
    vocabulary = path.with_name("vocab.txt")
    words = list(read_lines(vocabulary))
    if len(words) != len(rows):
        raise UserError(f"{vocabulary}: {len(words):,} words for {len(rows):,} rows of {path.name}")
    for number, (word, row) in enumerate(zip(words, rows, strict=True), start=1):
        if word in wanted:
            _require_finite(row, path, number)
            yield word, row


def _load(path: Path) -> np.ndarray:
    """[words, size], left in its file."""
    try:
        rows = np.load(path, mmap_mode="r")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UserError(f"{path}: not an array that NumPy wrote: {error}") from error
    if rows.ndim != 2 or rows.dtype.kind != "f":
        raise UserError(f"{path}: holds {rows.dtype} {list(rows.shape)}; it must be floats [words, size]")
    return rows


def _require_finite(vector: np.ndarray, path: Path, number: int) -> None:
    if not np.isfinite(vector).all():
        raise UserError(f"{path}, {'row' if path.suffix == '.npy' else 'line'} {number}: a number is not finite")
