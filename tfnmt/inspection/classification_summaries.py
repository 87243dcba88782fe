"""What TensorBoard shows of a classifier beside its curves: the trees that it parses, word vectors."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import tensorflow as tf

from tfnmt.classification.classifier import Classifier
from tfnmt.data.examples import Example
from tfnmt.inspection.figures import figure_image
from tfnmt.inspection.projector import word_table, write_projector
from tfnmt.inspection.tensorboard import SummaryCallback
from tfnmt.inspection.trees import draw_trees
from tfnmt.text.brackets import from_brackets
from tfnmt.training.keras_internals import averaged_weights

DRAWN_SENTENCES = 3
"""Dev sentences whose trees are drawn."""
LONGEST_DRAWN = 25
"""Words of a sentence that is drawn: longer ones would be too small to read."""


class ClassificationSummaries(SummaryCallback):
    """Draws the trees of some dev sentences every epoch, where the model parses; writes word vectors at the end.

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
        words = word_table(self.classifier.tokenizer, self.classifier.encoder.embedding.E.embeddings)
        write_projector(self.directory, {"words": words})
