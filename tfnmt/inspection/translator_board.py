"""What TensorBoard shows of a translator beside its figures: translations, the graph, vectors in the projector."""

from pathlib import Path

import keras
import tensorflow as tf

from tfnmt.inspection.attention import attention_matrices, draw_attention
from tfnmt.inspection.board import LOGS, PROJECTED_WORDS, Board, picture, preset_settings
from tfnmt.inspection.projector import write_projector
from tfnmt.training.callbacks import averaged_weights

SHOWN = 5
"""Dev sentences whose translations are followed."""
PROJECTED_SENTENCES = 500


def watch_translator(directory, preset, dev_files, profile_steps=None):
    """What `train_translator` takes as `watch`: callbacks that write to DIRECTORY/logs.

    Args:
        directory: the model directory.
        preset: the run's `Preset`.
        dev_files: `ParallelFiles`.
        profile_steps: see `Board`.
    """
    logs = Path(directory, LOGS)

    def watch(model):
        return [Board(logs, preset_settings(preset), profile_steps), TranslatorBoard(logs, model, *dev_files.sides())]

    return watch


class TranslatorBoard(keras.callbacks.Callback):
    """Writes the graph at the beginning, sample translations every epoch, vectors for the projector at the end.

    Args:
        directory: where event files go.
        model: the `Translator` that translates; the trained one or, with mixed precision, its float32 twin.
        sources, references: dev sentences and their translations.
    """

    def __init__(self, directory, model, sources, references):
        super().__init__()
        self.directory = str(directory)
        self.translator = model
        self.sources = [source for source in sources if source.strip()][:PROJECTED_SENTENCES]
        self.references = list(references)[:SHOWN]
        self.writer = None

    def on_train_begin(self, logs=None):
        if self.writer is not None:
            return
        self.writer = tf.summary.create_file_writer(self.directory)
        ids = tf.TensorSpec([None, None], tf.int32)
        forward = tf.function(self.translator, autograph=False).get_concrete_function({"source": ids, "target": ids})
        with self.writer.as_default():
            tf.summary.graph(forward.graph)

    def on_epoch_end(self, epoch, logs=None):
        shown = self.sources[:SHOWN]
        with averaged_weights(self.model):
            translations = self.translator.translate(shown, beam_size=1)
            matrices = self._attention(shown[:2])
        rows = zip(shown, translations, self.references, strict=False)
        table = "| source | translation | reference |\n|---|---|---|\n" + "".join(
            "| " + " | ".join(text.replace("|", "\\|") for text in row) + " |\n" for row in rows
        )
        with self.writer.as_default(step=int(self.model.optimizer.iterations)):
            tf.summary.text("translations", table)
            if matrices:
                tf.summary.image("attention", picture(draw_attention(matrices)))
        self.writer.flush()

    def _attention(self, texts):
        if self.translator.configuration.attention == "none":
            return []
        return attention_matrices(self.translator, texts, beam_size=1)

    def on_train_end(self, logs=None):
        encoder, tokenizer = self.translator.encoder, self.translator.source_tokenizer
        summaries = [
            encoder(self.translator.source_ids(tf.constant(self.sources[first : first + 64])))["summary"]
            for first in range(0, len(self.sources), 64)
        ]
        words = tf.range(min(PROJECTED_WORDS, tokenizer.vocabulary_size))
        labels = [word.decode("utf-8") for word in tokenizer.words(words).numpy()]
        write_projector(
            self.directory,
            {
                "source_words": (tf.gather(encoder.E.embeddings, words), {"word": labels}),
                "sentence_summaries": (
                    tf.concat(summaries, axis=0),
                    {"sentence": self.sources, "words": [len(source.split()) for source in self.sources]},
                ),
            },
        )
