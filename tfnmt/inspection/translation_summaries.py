"""What TensorBoard shows of a translator beside its curves: the graph, translations, attention, vectors."""

import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfnmt.inspection.attention import attention_matrices, draw_attention
from tfnmt.inspection.figures import figure_image
from tfnmt.inspection.projector import PROJECTED_SENTENCES, word_table, write_projector
from tfnmt.inspection.summary_vectors import summary_vectors
from tfnmt.inspection.tensorboard import SummaryCallback
from tfnmt.training.keras_internals import averaged_weights
from tfnmt.translation.translator import Translator

TRANSLATED_SENTENCES = 5
"""Dev sentences whose translations are written every epoch."""
DRAWN_SENTENCES = 2
"""Those of them whose attention is drawn."""


class TranslationSummaries(SummaryCallback):
    """Writes the graph at the beginning, sample translations every epoch, vectors for the projector at the end.

    Args:
        directory: where event files go.
        model: the `Translator` that translates; the trained one or, with mixed precision, its float32 twin.
        sources, references: dev sentences and their translations.
    """

    def __init__(self, directory: str | Path, model: Translator, sources: Iterable[str], references: Iterable[str]):
        super().__init__(directory)
        self.translator = model
        pairs = [pair for pair in zip(sources, references, strict=True) if pair[0].strip()][:PROJECTED_SENTENCES]
        self.sources, self.references = [source for source, _ in pairs], [reference for _, reference in pairs]

    def on_train_begin(self, logs: dict | None = None) -> None:
        ids = tf.TensorSpec([None, None], tf.int32)
        self.write_graph(self.translator, {"source": ids, "target": ids})

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        shown = self.sources[:TRANSLATED_SENTENCES]
        if not shown:
            return
        with averaged_weights(self.model):
            translations = self.translator.translate(shown, beam_size=1)
            matrices = self._attention(shown[:DRAWN_SENTENCES])
        rows = zip(shown, translations, self.references[:TRANSLATED_SENTENCES], strict=True)
        table = "| source | translation | reference |\n|---|---|---|\n" + "".join(
            "| " + " | ".join(map(_as_it_is, row)) + " |\n" for row in rows
        )
        with self.writer.as_default(step=self.step()):
            tf.summary.text("translations", table)
            if matrices:
                tf.summary.image("attention", figure_image(draw_attention(matrices)))
        self.writer.flush()

    def on_train_end(self, logs: dict | None = None) -> None:
        model = self.translator
        tables = {"source_words": word_table(model.source_tokenizer, model.encoder.E.embeddings)}
        if self.sources:
            lengths = [len(source.split()) for source in self.sources]
            columns: dict[str, list[Any]] = {"sentence": self.sources, "words": lengths}
            tables |= {"sentence_summaries": (summary_vectors(model, self.sources), columns)}
        write_projector(self.directory, tables)

    def _attention(self, texts):
        if self.translator.configuration.attention == "none":
            return []
        return attention_matrices(self.translator, texts, beam_size=1)


def _as_it_is(text):
    """A text in Markdown that is shown as it is, in which nothing is a markup."""
    return re.sub(r"[\\`*_\[\]|]", r"\\\g<0>", html.escape(text, quote=False))
