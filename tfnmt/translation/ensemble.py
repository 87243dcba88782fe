"""One translator or several as one (an ensemble): their step function, over which searches run."""

import functools
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.errors import UserError
from tfnmt.layers.invariants import products_in
from tfnmt.search.step import StepFunction, ensemble
from tfnmt.text.framing import encode_source
from tfnmt.translation.int8_weights import Int8Weights, weights_digest
from tfnmt.translation.shortlist import Candidates


class Ensemble(tf.Module):
    """Translators with the same tokenizers, as one translator whose probabilities are the mean of theirs.

    As a `tf.Module` it brings models and tokenizers into the SavedModel of whatever has it as an attribute.

    Args:
        models: a `Translator`, or a sequence of them.

    Raises:
        UserError: there is no model, or they do not share their vocabularies.
    """

    def __init__(self, models: keras.Model | Sequence[keras.Model]):
        super().__init__(name="ensemble")
        self.models = list(models) if isinstance(models, Sequence) else [models]
        require(len(self.models) > 0, "models", len(self.models), "one or more")
        self.source_tokenizer, self.target_tokenizer = (_shared(self.models, side) for side in ("source", "target"))
        if self.target_tokenizer.digest() == self.source_tokenizer.digest():
            self.target_tokenizer = self.source_tokenizer  # of a joint vocabulary: one in memory, and in a SavedModel
        self.maximum_source_length = min(model.configuration.maximum_source_length for model in self.models)
        self.has_attention = all(model.configuration.attention != "none" for model in self.models)
        self._int8_weights = functools.cache(lambda products, digest: Int8Weights(self.models, products))

    def int8_weights(self, float32_products: tuple[tuple[int, int], ...] = ()) -> Int8Weights:
        """A copy of the models' weights as they are now, for products in int8: the same one until they change.

        Args:
            float32_products: sizes [in, out] of matrices that are multiplied in float32 all the same.

        Raises:
            UserError: this machine has no products in int8.
        """
        return self._int8_weights(float32_products, weights_digest(self.models))

    def source_ids(self, texts: tf.Tensor) -> tf.Tensor:
        """Strings [batch] → int32 [batch, source_length]: tokens, END, padding; as many as all models read."""
        return encode_source(self.source_tokenizer, texts, self.maximum_source_length)

    def search_step(
        self,
        source: tf.Tensor,
        with_attention: bool = False,
        candidates: Candidates | None = None,
        dtype: str | None = None,
        normalized: bool = True,
        hypotheses: int = 1,
    ) -> tuple[StepFunction, Any, Any]:
        """The step function of all models together; arguments and results are those of `search_step`, but what several
        models give is always normalized."""
        normalized |= len(self.models) > 1
        arguments = (source, with_attention, candidates, dtype, normalized, hypotheses)
        of_models = [search_step(model, *arguments) for model in self.models]
        if len(of_models) == 1:
            return of_models[0]
        steps, states, memories = zip(*of_models, strict=True)
        return ensemble(steps), states, memories


def as_ensemble(models: Ensemble | keras.Model | Sequence[keras.Model]) -> Ensemble:
    """The `Ensemble` of one translator or several, or itself."""
    return models if isinstance(models, Ensemble) else Ensemble(models)


def search_step(
    model: keras.Model,
    source: tf.Tensor,
    with_attention: bool = False,
    candidates: Candidates | None = None,
    dtype: str | None = None,
    normalized: bool = True,
    hypotheses: int = 1,
) -> tuple[StepFunction, Any, Any]:
    """One translator's step function, see `tfnmt.search.step`.

    Args:
        model: a `Translator`.
        source: int32 [batch, source_length], as `encode_source` gives it.
        with_attention: whether the auxiliary outputs are {"attention": α float32 [rows, source_length]}, or {}.
        candidates: a shortlist's words, which alone have a probability; a token's id is then its position among them.
            None for the whole vocabulary.
        dtype: what the decoder's matrices are multiplied in, such as "bfloat16"; None for the model's own.
        normalized: whether the step gives log-probabilities; else each row is greater by any number, the same for all
            words of the row, which is all that greedy search needs.
        hypotheses: rows of each sentence that the step gets.

    Returns:
        (step, states, memory): the step function, the first states and the memory, of [batch] rows and sentences.
    """
    decoder = model.decoder
    states, memory = decoder.start(model.encoder(source))
    words = None if candidates is None else candidates.words
    with products_in(dtype):
        shared = decoder.for_steps(words)
    memory = {"source": memory} if candidates is None else {"source": memory, "penalties": candidates.penalties}

    def step(ids, states, memory):
        ids = ids if words is None else tf.gather(words, ids)
        logits, states, attention = decoder.step(ids, states, memory["source"], shared, hypotheses)
        logits = tf.cast(logits, tf.float32)
        if words is not None:
            logits = _add_to_rows(logits, memory["penalties"], hypotheses)
        auxiliary = {"attention": tf.cast(attention, tf.float32)} if with_attention else {}
        return tf.nn.log_softmax(logits) if normalized else logits, states, auxiliary

    return step, states, memory


def _add_to_rows(x, of_sentences, hypotheses):
    """x [rows, size] and what is to be added to each row of a sentence, [sentences, size]."""
    if hypotheses == 1:
        return x + of_sentences
    total = tf.reshape(x, [-1, hypotheses, tf.shape(x)[1]]) + of_sentences[:, tf.newaxis]
    return tf.reshape(total, tf.shape(x))


def _shared(models, side):
    """The tokenizer of one side that all models have."""
    tokenizers = [getattr(model, f"{side}_tokenizer") for model in models]
    for number, tokenizer in enumerate(tokenizers[1:], start=2):
        if tokenizer is not tokenizers[0] and tokenizer.digest() != tokenizers[0].digest():
            raise UserError(
                f"model 1 and model {number} of the ensemble differ in their {side} vocabulary; only models trained"
                " with the same tokenizers can be searched together"
            )
    return tokenizers[0]
