"""How probable given translations are: force decoding."""

import itertools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.text.tokenizers import END, PADDING, START
from tfnmt.training.losses import word_losses
from tfnmt.translation.alignment import word_numbers

WINDOW = 50  # batches read ahead, so that translations of like length can be put together
LARGEST = 20_000  # characters of a batch's translations, with padding: as many logits of the whole vocabulary fit


class Scored(NamedTuple):
    """A translation's log-probability, in parts."""

    words: np.ndarray
    """float [words + 1]: log p of each word, the sum over its tokens, and of END."""
    tokens: int
    """How many tokens, END counted."""

    @property
    def log_probability(self):
        return float(np.sum(self.words))


class Scorer(tf.Module):
    """Tells the log-probability of given translations, word by word, as a `Translator` sees them."""

    def __init__(self, model):
        super().__init__(name="scorer")
        self.model = model
        text = tf.TensorSpec([None], tf.string)
        self._function = tf.function(self.log_probabilities, input_signature=[text, text], autograph=False)

    def log_probabilities(self, sources, translations):
        """Score translations, in the graph.

        Args:
            sources, translations: string [batch].

        Returns:
            (log p of each token and of END, 0 after it, float32 [batch, length]; which word each token is part of,
            int32 [batch, length], −1 for END and padding).
        """
        ids = self.model.target_tokenizer.encode(translations)
        column = tf.ones([tf.shape(translations)[0], 1], tf.int32)
        target = tf.concat([START * column, ids], axis=1).to_tensor(PADDING)
        labels = tf.concat([ids, END * column], axis=1).to_tensor(PADDING)
        logits = self.model({"source": self.model.source_ids(sources), "target": target})
        log_p = tf.where(labels != PADDING, -word_losses(labels, logits), 0.0)
        return log_p, word_numbers(self.model.target_tokenizer, labels)

    def score(self, sources, translations, batch_size=64):
        """Score lists of strings, those of like length together.

        Returns:
            A list of `Scored`.
        """
        order = sorted(range(len(sources)), key=lambda i: len(translations[i]))
        scored = [None] * len(sources)
        for batch in _batches(order, [len(text) for text in translations], batch_size):
            both = (tf.constant([side[i] for i in batch], tf.string) for side in (sources, translations))
            log_p, words = (x.numpy() for x in self._function(*both))
            for i, of_tokens, numbers in zip(batch, log_p, words, strict=True):
                tokens = int(np.sum(numbers >= 0)) + 1
                numbers = np.append(numbers[: tokens - 1], numbers.max(initial=-1) + 1)
                scored[i] = Scored(np.bincount(numbers, weights=of_tokens[:tokens]), tokens)
        return scored


def score_stream(scorer, sources, translations, batch_size, file):
    """Score as many lines as there are, in constant memory.

    Args:
        scorer: a `Scorer`.
        sources, translations: iterators of strings.
        batch_size: see `Scorer.score`.
        file: where the translations are from, for error messages.

    Yields:
        A `Scored` for each pair, in order.

    Raises:
        UserError: a translation is too long to be scored; names the line.
    """
    pairs = enumerate(zip(sources, translations, strict=True), start=1)
    while window := list(itertools.islice(pairs, WINDOW * batch_size)):
        for line, (_, translation) in window:
            if len(translation) > LARGEST:
                raise UserError(f"{file}, line {line:,}: longer than {LARGEST:,} characters; split it to score it")
        yield from scorer.score(*map(list, zip(*(pair for _, pair in window), strict=True)), batch_size)


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
