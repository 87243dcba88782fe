"""Shortlists: the few target words that a sentence's words may be translated by, so that only these are scored.

Jean et al. 2015 (arXiv:1412.2007), section 3.3.3: the K most probable translations of each source word, from a table,
and the most frequent words. Each sentence has its own list, and the probabilities are normalised over it: so its
translation does not depend on the batch, although the logits of all lists of a batch are computed together.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfnmt.devices import on_cpu
from tfnmt.errors import UserError
from tfnmt.files import atomic_write
from tfnmt.search.ops import BLOCK
from tfnmt.search.step import NEG_INF
from tfnmt.text.tokenizers import END, PADDING, START, UNKNOWN, Tokenizer

SPECIAL = (PADDING, UNKNOWN, START, END)
"""First among all candidates, so that these ids are their positions too."""


class Candidates(NamedTuple):
    """The words that are scored for a batch."""

    words: tf.Tensor
    """int32 [n]: their ids in rising order, `SPECIAL` first; then `PADDING`, up to whole blocks of `top_k`."""
    penalties: tf.Tensor
    """float32 [batch, n]: 0 for words of the sentence's own list, `NEG_INF` for others."""
    places: tf.Tensor
    """int32 [target_vocabulary_size]: the position of each id that is among the words."""

    def positions(self, ids: tf.Tensor) -> tf.Tensor:
        """The positions of ids among the words, int32 of any shape; they must be there."""
        return tf.gather(self.places, ids)


class Shortlist(tf.Module):
    """A table of words' translations, and the most frequent words.

    Args:
        translations: int32 [source_vocabulary_size, K], ids of target words, 0 where there are fewer.
        frequent: int32 [F], ids of target words.
        target_vocabulary_size: ids of the target side.
        digests: of the source and the target tokenizer, as `Tokenizer.digest` gives them. None, as in older files: not
            known.
    """

    def __init__(
        self,
        translations: np.ndarray,
        frequent: np.ndarray,
        target_vocabulary_size: int,
        digests: Sequence[str] | None = None,
    ):
        super().__init__(name="shortlist")
        self.translations = tf.constant(translations, tf.int32)
        self.frequent = tf.constant(frequent, tf.int32)
        self.target_vocabulary_size = int(target_vocabulary_size)
        self.digests = None if digests is None else tuple(digests)

    def check(self, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> None:
        """Raise `UserError` if it is of other tokenizers than these; without digests, of other sizes."""
        tokenizers = source_tokenizer, target_tokenizer
        sizes = self.translations.shape[0], self.target_vocabulary_size
        of_model = tuple(tokenizer.vocabulary_size for tokenizer in tokenizers)
        if sizes != of_model:
            raise UserError(
                f"the shortlist is of vocabularies of {sizes[0]} and {sizes[1]} words, the model's have"
                f" {of_model[0]} and {of_model[1]}; make one for this model"
            )
        if self.digests is None:
            return
        for side, digest, tokenizer in zip(("source", "target"), self.digests, tokenizers, strict=True):
            if digest != tokenizer.digest():
                raise UserError(
                    f"the shortlist is of another {side} vocabulary than the model's; make one for this model"
                )

    @on_cpu
    def candidates(self, source: tf.Tensor, banned: Sequence[int], prefix: tf.Tensor | None = None) -> Candidates:
        """The `Candidates` of a batch.

        Args:
            source: int32 [batch, source_length], padded with 0.
            banned: ids that are in no sentence's list, but may be in prefixes.
            prefix: int32 [batch, length], words that must be in the sentence's list, padded with 0; or None.
        """
        size = self.target_vocabulary_size
        translations = tf.where((source != PADDING)[:, :, tf.newaxis], tf.gather(self.translations, source), 0)
        own = _are_among(tf.reshape(translations, [tf.shape(source)[0], -1]), size)
        own |= _are_among(tf.concat([self.frequent, SPECIAL], axis=0), size)
        own &= ~_are_among(banned, size)
        if prefix is not None:
            own |= _are_among(prefix, size) & (tf.range(size) != PADDING)
        is_there = tf.reduce_any(own, axis=0) | _are_among([*SPECIAL, *banned], size)
        words = tf.cast(tf.where(is_there)[:, 0], tf.int32)
        penalties = tf.where(tf.gather(own, words, axis=1), 0.0, NEG_INF)
        more = -tf.size(words) % BLOCK
        words = tf.pad(words, [[0, more]], constant_values=PADDING)
        penalties = tf.pad(penalties, [[0, 0], [0, more]], constant_values=NEG_INF)
        return Candidates(words, penalties, tf.cumsum(tf.cast(is_there, tf.int32)) - 1)

    def save(self, path: str | Path) -> None:
        """Write it to a file (.npz); the file is written whole or not."""
        with atomic_write(path, advice="name another file") as part, open(part, "wb") as file:
            arrays = {
                "translations": self.translations,
                "frequent": self.frequent,
                "target_vocabulary_size": self.target_vocabulary_size,
            }
            if self.digests is not None:
                arrays["digests"] = self.digests
            np.savez_compressed(file, **arrays)


def _are_among(ids, size):
    """Which of the ids 0 to size − 1 are in each row: int32 [..., length] → bool [..., size]."""
    return tf.math.bincount(ids, minlength=size, maxlength=size, axis=-1, binary_output=True) > 0


def load_shortlist(path: str | Path) -> Shortlist:
    """The `Shortlist` that `save` wrote.

    Raises:
        UserError: there is no such file, or it is none of `save`'s, or an id is out of range.
    """
    try:
        with np.load(path) as arrays:
            translations, frequent, size = (
                np.asarray(arrays[name]) for name in ("translations", "frequent", "target_vocabulary_size")
            )
            digests = np.asarray(arrays["digests"]).tolist() if "digests" in arrays else None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or 'is not a shortlist'}") from error
    except Exception as error:  # broken archives make zipfile and NumPy raise errors of many types
        raise UserError(f"{path}: is not a shortlist; tfnmt make-shortlist makes one") from error
    are_integers = all(array.dtype.kind in "iu" for array in (translations, frequent, size))
    are_shaped = (translations.ndim, frequent.ndim, size.ndim) == (2, 1, 0)
    are_digests = digests is None or (
        isinstance(digests, list) and len(digests) == 2 and all(isinstance(each, str) for each in digests)
    )
    if not are_integers or not are_shaped or not are_digests or size > np.iinfo(np.int32).max:
        raise UserError(f"{path}: is not a shortlist; tfnmt make-shortlist makes one")
    for name, ids in (("translations", translations), ("frequent", frequent)):
        if ids.size and not 0 <= ids.min() <= ids.max() < size:
            raise UserError(f"{path}: {name} has ids from {ids.min()} to {ids.max()}; allowed is 0 to {int(size) - 1}")
    return Shortlist(translations.astype(np.int32), frequent.astype(np.int32), int(size), digests)
