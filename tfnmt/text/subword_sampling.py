"""Segmentations into subwords that are drawn: BPE-dropout and subword regularization.

The library sentencepiece draws them too, but newer versions draw other ones in every process, whatever its seed.
"""

import functools
import math
import random
import re

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tfnmt.text.tokenizer import UNKNOWN

# What SentencePiece takes from the lowest of all scores for a character that is in no piece.
_UNKNOWN_PENALTY = 10.0
_KEPT_WORDS = 10_000


class SubwordSampler:
    """Draws segmentations of text into the subwords of a SentencePiece model.

    Each word is cut by itself. Of a BPE model (Provilkov et al. 2020, arXiv:1910.13267, algorithm 1): of all merges of
    two neighbours each is left out with probability α, and the best of the others is done, until none is left. Of a
    unigram model (Kudo 2018, arXiv:1804.10959, section 3.2, with all segmentations, l = ∞): one with probability
    P(x)^α / Σ P(x')^α, by forward filtering and backward sampling.

    Args:
        model: the bytes of a SentencePiece model.
        alpha: as described above.
    """

    def __init__(self, model: bytes, alpha: float):
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        description = sentencepiece_model_pb2.ModelProto.FromString(model)
        normal = description.SentencePiece.NORMAL
        pieces = [(i, piece) for i, piece in enumerate(description.pieces) if piece.type == normal]
        self._ids = {piece.piece: i for i, piece in pieces}
        self._scores = {piece.piece: piece.score for _, piece in pieces}
        self._longest = max(map(len, self._ids), default=1)
        self._unknown_score = min(self._scores.values(), default=0.0) - _UNKNOWN_PENALTY
        self._alpha = alpha
        is_bpe = description.trainer_spec.model_type == description.trainer_spec.BPE
        self._pieces = self._merged if is_bpe else self._drawn
        self._lattice_of = functools.lru_cache(_KEPT_WORDS)(self._lattice)  # frequent words are most of a text

    def draw(self, text: str, rng: random.Random) -> list[int]:
        """The ids of a text's pieces, as `rng` draws them."""
        ids: list[int] = []
        for word in re.findall("▁[^▁]*|[^▁]+", self._processor.normalize(text)):
            for piece in self._pieces(word, rng):
                i = self._ids.get(piece, UNKNOWN)
                if i != UNKNOWN or ids[-1:] != [UNKNOWN]:  # as SentencePiece, one for all characters in a row
                    ids.append(i)
        return ids

    def _merged(self, word, rng):
        """By BPE-dropout."""
        pieces = list(word)
        while True:
            merges = ((self._scores.get(a + b), -i) for i, (a, b) in enumerate(zip(pieces, pieces[1:], strict=False)))
            kept = [merge for merge in merges if merge[0] is not None and rng.random() >= self._alpha]
            if not kept:
                return pieces
            i = -max(kept)[1]
            pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]

    def _drawn(self, word, rng):
        """By subword regularization."""
        lattice, end, pieces = self._lattice_of(word), len(word), []
        while end:
            starts, weights = lattice[end]
            (start,) = rng.choices(starts, weights)
            pieces.append(word[start:end])
            end = start
        return pieces[::-1]

    def _lattice(self, word):
        """For each end of a piece, all its beginnings, and how probable each is."""
        sums, lattice = [0.0], [([0], [1.0])]
        for end in range(1, len(word) + 1):
            starts = range(max(0, end - self._longest), end)
            logs = {i: sums[i] + self._alpha * s for i in starts if (s := self._score(word[i:end])) is not None}
            highest = max(logs.values())
            weights = [math.exp(log - highest) for log in logs.values()]
            sums.append(highest + math.log(sum(weights)))
            lattice.append((list(logs), weights))
        return lattice

    def _score(self, piece):
        """The log-probability of a piece; None of what is none. A single character is one always."""
        return self._scores.get(piece, self._unknown_score if len(piece) == 1 else None)
