"""Log-probabilities of given translations, by force decoding: each token given all the tokens before it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.data.lines import batch_lines
from tfnmt.devices import on_cpu
from tfnmt.errors import UserError
from tfnmt.shapes import function_of_texts
from tfnmt.text import framing
from tfnmt.text.characters import require_texts
from tfnmt.text.tokenizers import PADDING
from tfnmt.training.losses import word_losses
from tfnmt.translation.alignment import word_indices
from tfnmt.translation.ensemble import Ensemble, as_ensemble
from tfnmt.translation.streaming import WINDOW

if TYPE_CHECKING:
    from tfnmt.translation.translator import Translator

LARGEST = 20_000
"""Characters in a batch of translations, with padding, at most: the logits of so many tokens must fit in memory."""


class Scored(NamedTuple):
    """A translation's log-probability, in parts."""

    words: np.ndarray
    """float [words + 1]: log p of each word, the sum over its tokens, and of END."""
    tokens: int
    """The number of tokens, END counted."""

    @property
    def log_probability(self) -> float:
        """Of the whole translation and its end."""
        return float(np.sum(self.words))


def log_probabilities(ensemble: Ensemble, sources: tf.Tensor, translations: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Score translations, in the graph. Several models count by the mean of their probabilities.

    Args:
        ensemble: the models.
        sources, translations: string [batch].

    Returns:
        (log_p, labels): float32 [batch, length], log p of each token and of END, 0 after it; and their ids, int32
        [batch, length].
    """
    target, labels = _framed(ensemble.target_tokenizer, translations)
    inputs = {"source": ensemble.source_ids(sources), "target": target}
    of_models = tf.stack([-word_losses(labels, model(inputs)) for model in ensemble.models])
    log_p = tf.reduce_logsumexp(of_models, axis=0) - tf.math.log(float(len(ensemble.models)))
    return tf.where(labels != PADDING, log_p, 0.0), labels


@on_cpu
def _framed(tokenizer, translations):
    """The ids of strings [batch] as the decoder's inputs and as labels, both int32 [batch, length]."""
    ids = tokenizer.encode(tf.concat([translations, [""]], axis=0))  # so that no batch is empty
    return tuple(frame(ids).to_tensor(PADDING)[:-1] for frame in (framing.decoder_inputs, framing.with_end))


class Scorer(tf.Module):
    """Scores given translations, word by word.

    Args:
        models: a `Translator`, or several (an ensemble).
        precision: of matrix products, "float32" or "int8"; with int8, the weights count as they are now.

    Raises:
        UserError: the models do not share their vocabularies, there is no such precision, or there are no products in
            int8 here.
    """

    def __init__(
        self,
        models: Ensemble | Translator | Sequence[Translator],
        precision: Literal["float32", "int8"] = "float32",
    ):
        require(precision in ("float32", "int8"), "precision", precision, "float32 or int8")
        super().__init__(name="scorer")
        self.ensemble = as_ensemble(models)
        self._weights = self.ensemble.int8_weights() if precision == "int8" else None
        self._function = function_of_texts(self._score, "sources", "translations")

    def _score(self, sources, translations):
        with self._weights.in_use(self.ensemble.models) if self._weights else contextlib.nullcontext():
            log_p, ids = log_probabilities(self.ensemble, sources, translations)
        return log_p, word_indices(self.ensemble.target_tokenizer, ids)

    def score(
        self,
        sources: Sequence[str],
        translations: Sequence[str],
        batch_size: int = 64,
        advance: Callable[[int], None] | None = None,
    ) -> list[Scored]:
        """Score lists of strings, those of similar length together; `advance` is called after each batch with the
        number of its pairs.

        Raises:
            UserError: one string in place of a list, something that is no string, half a surrogate pair, not as many
                translations as sources, or a batch size below 1.
        """
        require_texts("sources", sources)
        require_texts("translations", translations)
        require(batch_size >= 1, "batch_size", batch_size, "a whole number from 1")
        as_many = f"as many as sources: {len(sources)}"
        require(len(sources) == len(translations), "translations", len(translations), as_many)
        order = sorted(range(len(sources)), key=lambda i: len(translations[i]))
        scored: list[Any] = [None] * len(sources)
        for batch in _batches(order, [len(text) for text in translations], batch_size):
            both = (tf.constant([side[i] for i in batch], tf.string) for side in (sources, translations))
            log_p, words = (x.numpy() for x in self._function(*both))
            for i, of_tokens, indices in zip(batch, log_p, words, strict=True):
                tokens = int(np.sum(indices >= 0)) + 1
                indices = np.append(indices[: tokens - 1], indices.max(initial=-1) + 1)
                scored[i] = Scored(np.bincount(indices, weights=of_tokens[:tokens]), tokens)
            if advance:
                advance(len(batch))
        return scored


def score_stream(
    scorer: Scorer,
    sources: Iterator[str],
    translations: Iterator[str],
    batch_size: int,
    file: str | Path,
    advance: Callable[[int], None] | None = None,
) -> Iterator[Scored]:
    """Score any number of lines in constant memory.

    Args:
        scorer: a `Scorer`.
        sources, translations: iterators of strings.
        batch_size: see `Scorer.score`.
        file: where the translations come from, for error messages.
        advance: see `Scorer.score`.

    Yields:
        A `Scored` for each pair, in order.

    Raises:
        UserError: a translation is too long to be scored; names the line.
    """
    pairs = enumerate(zip(sources, translations, strict=True), start=1)
    for window in batch_lines(pairs, WINDOW * batch_size):
        for line, (_, translation) in window:
            if len(translation) > LARGEST:
                raise UserError(f"{file}, line {line:,}: longer than {LARGEST:,} characters; split it to score it")
        window_sources, window_translations = map(list, zip(*(pair for _, pair in window), strict=True))
        yield from scorer.score(window_sources, window_translations, batch_size, advance)


def _batches(order, lengths, batch_size):
    """Parts of `order`, whose lengths grow, of at most `batch_size` items and `LARGEST` characters with padding."""
    batch = []
    for i in order:
        if batch and (len(batch) == batch_size or lengths[i] * (len(batch) + 1) > LARGEST):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
