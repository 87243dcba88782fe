"""What TensorBoard shows of a classifier beside its curves: the graph, the trees that it parses, vectors."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfnmt.classification.classifier import Classifier
from tfnmt.data.example_batches import sentence_batch
from tfnmt.data.examples import Example
from tfnmt.inspection.figures import figure_image
from tfnmt.inspection.projector import PROJECTED_SENTENCES, word_table, write_projector
from tfnmt.inspection.tensorboard import SummaryCallback
from tfnmt.inspection.trees import draw_trees
from tfnmt.text.brackets import from_brackets
from tfnmt.training.keras_internals import averaged_weights

DRAWN_SENTENCES = 3
"""Dev sentences whose trees are drawn."""
LONGEST_DRAWN = 25
"""Words of a sentence that is drawn: longer ones would be too small to read."""
BATCH_SIZE = 64


class ClassificationSummaries(SummaryCallback):
    """Writes the graph at the beginning; trees of some dev sentences every epoch, where the model parses; vectors of
    words and sentences for the projector at the end.

    Args:
        directory: where event files go.
        model: the `Classifier`.
        examples: dev examples.
    """

    def __init__(self, directory: str | Path, model: Classifier, examples: Iterable[Example]):
        super().__init__(directory)
        self.classifier = model
        self.sentences = []
        if model.encoder_spec.predicts_parses:
            firsts = (example.sentences[0] for example in examples)
            short = (sentence for sentence in firsts if len(sentence.words) <= LONGEST_DRAWN)
            self.sentences = list(islice(short, DRAWN_SENTENCES))
        labelled = ((sentence, example.label) for example in examples for sentence in example.sentences)
        self.projected = list(islice(labelled, PROJECTED_SENTENCES))

    def on_train_begin(self, logs: dict | None = None) -> None:
        names = sentence_batch([sentence for sentence, _ in self.projected[:1]], self.classifier.tokenizer)
        self.write_graph(self.classifier, dict.fromkeys(names, tf.TensorSpec([None, None], tf.int32)))

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        if not self.sentences:
            return
        with averaged_weights(self.model):
            brackets = self.classifier.predictor.parse_sentences(self.sentences)
        trees = {str(i): from_brackets(tree) for i, tree in enumerate(brackets, start=1)}
        with self.writer.as_default(step=self.step()):
            tf.summary.image("trees", figure_image(draw_trees(trees)))
        self.writer.flush()

    def on_train_end(self, logs: dict | None = None) -> None:
        model = self.classifier
        sentences, labels = zip(*self.projected, strict=True)
        batches = (sentences[first : first + BATCH_SIZE] for first in range(0, len(sentences), BATCH_SIZE))
        vectors = np.concatenate([model.predictor.sentence_vectors(batch) for batch in batches])
        columns: dict[str, list[Any]] = {
            "sentence": [" ".join(sentence.words) for sentence in sentences],
            "words": [len(sentence.words) for sentence in sentences],
            "label": [model.configuration.labels[label] for label in labels],
        }
        words = word_table(model.tokenizer, model.encoder.embedding.E.embeddings)
        write_projector(self.directory, {"words": words, "sentences": (vectors, columns)})
