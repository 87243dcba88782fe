"""What TensorBoard shows of a classifier's run beside its figures: the trees that the model makes, word vectors."""

from itertools import islice
from pathlib import Path

import keras
import tensorflow as tf

from tfnmt.inspection.board import LOGS, PROJECTED_WORDS, Board, picture, preset_settings
from tfnmt.inspection.projector import write_projector
from tfnmt.inspection.trees import draw_trees
from tfnmt.text.brackets import from_brackets
from tfnmt.training.callbacks import averaged_weights

SHOWN = 3
"""Dev sentences whose trees are drawn."""
LONGEST_DRAWN = 25
"""Words, so that they can be read."""


def watch_classifier(directory, preset, profile_steps=None):
    """What `train_classifier` takes as `watch`: callbacks that write to DIRECTORY/logs.

    Args:
        directory: the model directory.
        preset: the run's `ClassifierPreset`.
        profile_steps: see `Board`.
    """
    logs = Path(directory, LOGS)

    def watch(model, examples):
        return [Board(logs, preset_settings(preset), profile_steps), ClassifierBoard(logs, model, examples)]

    return watch


class ClassifierBoard(keras.callbacks.Callback):
    """Draws the trees of some dev sentences every epoch, where the model parses; writes word vectors at the end.

    Args:
        directory: where event files go.
        model: the `Classifier`.
        examples: dev examples.
    """

    def __init__(self, directory, model, examples):
        super().__init__()
        self.directory = str(directory)
        self.classifier = model
        self.sentences = []
        if model.configuration.parses:
            texts = (example.sentences[0].words for example in examples)
            short = (words for words in texts if len(words) <= LONGEST_DRAWN)
            self.sentences = [" ".join(words) for words in islice(short, SHOWN)]
        self.writer = None

    def on_train_begin(self, logs=None):
        self.writer = self.writer or tf.summary.create_file_writer(self.directory)

    def on_epoch_end(self, epoch, logs=None):
        if not self.sentences:
            return
        with averaged_weights(self.model):
            brackets = self.classifier.parse(self.sentences)
        trees = {str(i): from_brackets(tree) for i, tree in enumerate(brackets, start=1)}
        with self.writer.as_default(step=int(self.model.optimizer.iterations)):
            tf.summary.image("trees", picture(draw_trees(trees)))
        self.writer.flush()

    def on_train_end(self, logs=None):
        tokenizer = self.classifier.tokenizer
        words = tf.range(min(PROJECTED_WORDS, tokenizer.vocabulary_size))
        labels = [word.decode("utf-8") for word in tokenizer.words(words).numpy()]
        vectors = tf.gather(self.classifier.encoder.embedding.E.embeddings, words)
        write_projector(self.directory, {"words": (vectors, {"word": labels})})
