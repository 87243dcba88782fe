"""Running a classifier on batches, and on text: labels and parse trees."""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.classification.encoders import ENCODERS
from tfnmt.configuration import require
from tfnmt.data.example_batches import sentence_batch
from tfnmt.data.examples import Sentence, SentenceReader, split_words
from tfnmt.errors import UserError, errors_in
from tfnmt.text.brackets import from_brackets, to_brackets
from tfnmt.text.characters import refuse_surrogates

Batch = dict[str, tf.Tensor]

_LABELLED_TREE = re.compile(r"\s*\([0-4] .*\)\s*$", re.DOTALL)


def check_text(configuration: ClassifierConfiguration, text: str) -> None:
    """Check that a text is what a model of this configuration reads.

    Raises:
        UserError: there are no words, or no tree where the model needs one, or a tree with labels.
    """
    if configuration.reads_phrases and _LABELLED_TREE.match(text):
        raise UserError("is a tree with labels; write its words alone, or as ( A ( good film ) )")
    if configuration.needs_brackets:
        try:
            from_brackets(text)
        except UserError as error:
            reason = "; the model reads brackets as words (brackets_as_words=true), so each text needs them"
            raise UserError(f"{error}{reason if configuration.brackets_as_words else ''}") from error
    elif not split_words(text):
        raise UserError("there are no words")


class Predictor:
    """Runs a `Classifier`, with one trace for all shapes of batches.

    Args:
        model: the classifier.
    """

    def __init__(self, model: keras.Model):
        self.model = model
        self._trace = functools.cache(self._new_function)

    def predict(self, inputs: Batch) -> dict[str, np.ndarray]:
        """The outputs of the model for a batch."""
        return {name: value.numpy() for name, value in self._run(self.model, inputs).items()}

    def classify(self, texts: Sequence[Any], batch_size: int) -> list[str]:
        """See `Classifier.classify`."""
        configuration, labels = self.model.configuration, []
        self._require_form(texts, batch_size, configuration.reads_pairs)
        for first in range(0, len(texts), batch_size):
            batch = texts[first : first + batch_size]
            sides = zip(*batch, strict=True) if configuration.reads_pairs else [batch]
            sentences = [sentence for side in sides for sentence in self._sentences(side, first + 1)]
            logits = self.predict(sentence_batch(sentences, self.model.tokenizer))["logits"]
            labels += [configuration.labels[i] for i in np.argmax(logits, axis=-1)]
        return labels

    def parse(self, texts: Sequence[str], batch_size: int) -> list[str]:
        """See `Classifier.parse`."""
        if not self.model.encoder_spec.predicts_parses:
            parsers = " and ".join(name for name, spec in ENCODERS.items() if spec.predicts_parses)
            raise UserError(f"encoder={self.model.encoder_spec.name} does not parse: {parsers} do")
        self._require_form(texts, batch_size, in_pairs=False)
        trees = []
        for first in range(0, len(texts), batch_size):
            trees += self.parse_sentences(list(self._sentences(texts[first : first + batch_size], first + 1)))
        return trees

    def parse_sentences(self, sentences: Sequence[Sentence]) -> list[str]:
        """The trees in brackets that a model which parses predicts for sentences as it reads them, in one batch."""
        inputs = sentence_batch(sentences, self.model.tokenizer)
        transitions = self._run(self.model.encoder, inputs)["transitions"].numpy()
        return [to_brackets(sentence.words, row) for sentence, row in zip(sentences, transitions, strict=True)]

    def sentence_vectors(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """The encoder's vectors of sentences as the model reads them, in one batch: float [sentences, output_size]."""
        return self._run(self.model.encoder, sentence_batch(sentences, self.model.tokenizer))["root"].numpy()

    def _require_form(self, texts, batch_size, in_pairs):
        require(not isinstance(texts, str), "texts", texts, "a list of " + ("pairs of texts" if in_pairs else "texts"))
        require(batch_size >= 1, "batch_size", batch_size, "a whole number from 1")
        for number, text in enumerate(texts, start=1):
            is_pair = isinstance(text, tuple | list) and len(text) == 2 and all(isinstance(side, str) for side in text)
            if not (is_pair if in_pairs else isinstance(text, str)):
                expected = "a pair of texts" if in_pairs else "a text"
                raise UserError(f"text {number}: is {text!r}; it should be {expected}")
            refuse_surrogates("".join(text), f"text {number}: ")

    def _sentences(self, texts: Sequence[str], first_number: int) -> Iterator[Sentence]:
        """The sentences of texts, with their trees if the model needs them; errors number the texts."""
        configuration = self.model.configuration
        reader = SentenceReader(self.model.encoder_spec.needs_parses, brackets_as_words=configuration.brackets_as_words)
        for number, text in enumerate(texts, start=first_number):
            with errors_in(f"text {number}"):
                check_text(configuration, text)
            yield reader.read(text)

    def _run(self, layer: Callable, inputs: Batch) -> Batch:
        return self._trace(layer, tuple(sorted(inputs)))(inputs)

    def _new_function(self, layer: Callable, names: tuple[str, ...]) -> Callable:
        """The model, or its encoder alone, as a `tf.function` of batches with these names."""
        signature = {name: tf.TensorSpec([None, None], tf.int32) for name in names}
        return tf.function(functools.partial(layer, training=False), input_signature=[signature], autograph=False)
