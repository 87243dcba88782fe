"""The most probable translations of each word, by IBM Model 1 (Brown et al. 1993), from parallel text of any size.

Each iteration reads the pairs anew. What is kept in memory is one probability for each link, that is for each source
and target word that occur in the same pair.
"""

import contextlib
import itertools
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfnmt.data.record_batches import read_ids
from tfnmt.data.records import ParallelRecords
from tfnmt.data.training_pairs import TrainingPairs
from tfnmt.files import file_errors
from tfnmt.text.framing import with_end
from tfnmt.text.tokenizers import Tokenizer

_PAIRS_AT_ONCE = 1000
_LINKED_AT_ONCE = 2_000_000
"""Links after which a piece of the corpus ends: fewer than twice as many are looked at in one go, which takes 100 to
200 MB. Pairs with more are left out."""
MOST_LINKS = 64_000_000
"""Links that are kept, which take 16 to 40 bytes each: all, if the vocabularies allow no more; or else, of those that
occur, an equal share of every source word."""
_TINY = float(np.finfo(float).tiny)


class Sentences(NamedTuple):
    """One side of some pairs."""

    ids: np.ndarray
    """int32 [tokens of all]"""
    lengths: np.ndarray
    """int64 [pairs]"""


Chunk = tuple[Sentences, Sentences]


@contextlib.contextmanager
def spooled_ids(
    pairs: TrainingPairs, tokenizers: tuple[Tokenizer, Tokenizer], limit: int, directory: Path
) -> Iterator[Iterable[Chunk]]:
    """Within the block, the ids of pairs are in a temporary file, to be read as often as need be.

    Args:
        pairs: text, or records with the same tokenizers.
        tokenizers: of the source, to which END is added, and of the target.
        limit: pairs that are read at most.
        directory: where the file is; it takes 4 bytes a token.
    """
    if isinstance(pairs, ParallelRecords):
        pairs.require_tokenizers(tokenizers, "the model")
        ids = read_ids(pairs, _PAIRS_AT_ONCE)
    else:
        ids = _encoded(pairs, tokenizers)
    with file_errors(directory), tempfile.TemporaryFile(dir=directory) as file:
        left = limit
        for source, target in ids:
            for side in (with_end(source[:left]), target[:left]):
                np.save(file, side.flat_values.numpy().astype(np.int32))
                np.save(file, side.row_lengths().numpy())
            left -= int(source.nrows())
            if left <= 0:
                break
        yield _Spool(file)


class _Spool:
    def __init__(self, file):
        self._file, self._end = file, file.tell()

    def __iter__(self) -> Iterator[Chunk]:
        self._file.seek(0)
        while self._file.tell() < self._end:
            source, target = (Sentences(np.load(self._file), np.load(self._file)) for _ in range(2))
            yield source, target


def _encoded(pairs, tokenizers) -> Iterator[tuple[tf.RaggedTensor, tf.RaggedTensor]]:
    lines = zip(*pairs.sides(), strict=True)
    while chunk := list(itertools.islice(lines, _PAIRS_AT_ONCE)):
        source, target = (
            tokenizer.encode(tf.constant(side))
            for tokenizer, side in zip(tokenizers, zip(*chunk, strict=True), strict=True)
        )
        yield source, target


def translation_table(
    chunks: Iterable[Chunk], source_size: int, target_size: int, words_per_word: int, iterations: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    """The most probable translations of each source word.

    Args:
        chunks: pairs, iterated over once in each iteration. The source should end with END, which stands for Model 1's
            empty word.
        source_size, target_size: the sizes of the vocabularies.
        words_per_word: K, the number of translations of each source word.
        iterations: of expectation maximization.

    Returns:
        (translations, counts): int32 [source_size, K], the most probable first, 0 where there are fewer; int64
        [target_size], how often each target word occurs.
    """
    if source_size * target_size <= MOST_LINKS:
        links, first = None, np.arange(source_size + 1) * target_size
    else:
        links = _most_frequent_links(chunks, target_size, max(words_per_word, MOST_LINKS // source_size))
        first = np.searchsorted(links, np.arange(source_size + 1) * target_size)
    p = np.ones(first[-1])
    for _ in range(iterations):
        counted, occurrences = np.zeros_like(p), np.zeros(target_size, np.int64)
        for source, target in _pieces(chunks):
            occurrences += np.bincount(target.ids, minlength=target_size)
            keys, owners = _links(source, target, target_size)
            if links is None:
                position, share = keys, p[keys]
            else:
                position = np.minimum(np.searchsorted(links, keys), len(links) - 1)
                share = np.where(links[position] == keys, p[position], 0.0)
            share /= np.maximum(np.bincount(owners, share), _TINY)[owners]
            np.add.at(counted, position, share)
        for begin, end in itertools.pairwise(first):
            p[begin:end] = counted[begin:end] / max(counted[begin:end].sum(), _TINY)
    table = np.zeros([source_size, words_per_word], np.int32)
    for word, (begin, end) in enumerate(itertools.pairwise(first)):
        # Rounded, since equal probabilities differ in the last bits by the order in which pairs were counted.
        of_word = p[begin:end].astype(np.float32)
        (possible,) = np.nonzero(of_word)
        best = possible[np.argsort(-of_word[possible], kind="stable")[:words_per_word]]
        table[word, : len(best)] = best if links is None else links[begin + best] % target_size
    return table, occurrences


def _most_frequent_links(chunks: Iterable[Chunk], target_size: int, most_of_word: int) -> np.ndarray:
    """The links that occur, in rising order, int64 [n]; of each source word, those with the greatest counts."""
    counts = _LinkCounts(target_size, most_of_word)
    for source, target in _pieces(chunks):
        keys, owners = _links(source, target, target_size)
        counts.add(keys, 1 / np.bincount(owners)[owners])  # all links are equally probable at first
    return counts.merged()


class _LinkCounts:
    """The expected count of each link; of every source word, those with the greatest counts."""

    def __init__(self, target_size: int, most_of_word: int):
        self._target_size, self._most_of_word = target_size, most_of_word
        self._links: list[np.ndarray] = [np.empty(0, np.int64)]
        self._counts: list[np.ndarray] = [np.empty(0)]
        self._waiting = 0

    def add(self, keys: np.ndarray, counts: np.ndarray) -> None:
        """Add counts of links, each as source word times target_size plus target word; a link may occur often."""
        different, link_of = np.unique(keys, return_inverse=True)
        self._links.append(different)
        self._counts.append(np.bincount(link_of, counts))
        self._waiting += len(different)
        if self._waiting > max(len(self._links[0]), _LINKED_AT_ONCE):
            self.merged()

    def merged(self) -> np.ndarray:
        """The links in rising order, int64 [n]."""
        links, link_of = np.unique(np.concatenate(self._links), return_inverse=True)
        counts = np.bincount(link_of, np.concatenate(self._counts), len(links))
        source_of = links // self._target_size
        order = np.lexsort([-counts, source_of])
        rank = np.arange(len(order)) - np.searchsorted(source_of, source_of)
        kept = np.sort(order[rank < self._most_of_word])
        self._links, self._counts, self._waiting = [links[kept]], [counts[kept]], 0
        return self._links[0]


def _pieces(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The same pairs, with fewer than twice `_LINKED_AT_ONCE` links in a piece."""
    for chunk in chunks:
        links = chunk[0].lengths * chunk[1].lengths
        fits = links <= _LINKED_AT_ONCE
        piece_of = np.cumsum(np.where(fits, links, 0)) // _LINKED_AT_ONCE
        for piece in np.unique(piece_of):
            source, target = (_select(side, fits & (piece_of == piece)) for side in chunk)
            if len(source.ids) and len(target.ids):
                yield source, target


def _select(side: Sentences, is_selected: np.ndarray) -> Sentences:
    if is_selected.all():
        return side
    return Sentences(side.ids[np.repeat(is_selected, side.lengths)], side.lengths[is_selected])


def _links(source: Sentences, target: Sentences, target_size: int) -> tuple[np.ndarray, np.ndarray]:
    """All links of some pairs, int64 [links], and of each, which of the target's tokens it explains, int64 [links]."""
    links_of_token = np.repeat(source.lengths, target.lengths)
    first_source = np.repeat(np.cumsum(source.lengths) - source.lengths, target.lengths)
    first_link = np.cumsum(links_of_token) - links_of_token
    owners = np.repeat(np.arange(len(target.ids)), links_of_token)
    position = np.arange(len(owners)) - first_link[owners] + first_source[owners]
    return source.ids[position].astype(np.int64) * target_size + target.ids[owners], owners
