"""Vectors with labels for TensorBoard's embedding projector. (Keras's own callback for it fails: keras #20210.)"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike
from tensorboard.plugins import projector

from tfnmt.text.tokenizer import Tokenizer

PROJECTED_WORDS = 2000
"""Word vectors in the projector: enough to see structure, and a file of a megabyte or two."""

PROJECTED_SENTENCES = 500
"""Dev sentences whose vectors are written."""

Table = tuple[ArrayLike, Mapping[str, Sequence]]


def write_projector(directory: str | Path, tables: Mapping[str, Table]) -> None:
    """Write vectors and labels into a folder of event files, where the projector finds them.

    Args:
        directory: the folder.
        tables: {name: (vectors, columns)}: float [rows, size], and a dictionary from a column's title to a list of
            that many labels (numbers colour the points by value).
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    config = projector.ProjectorConfig()
    for name, (vectors, columns) in tables.items():
        vectors_file, labels_file = f"{name}_vectors.tsv", f"{name}_labels.tsv"
        np.savetxt(directory / vectors_file, np.asarray(vectors), fmt="%.5g", delimiter="\t")
        rows = list(zip(*columns.values(), strict=True))
        if len(columns) > 1:  # the projector reads a head line only where there are several columns
            rows.insert(0, tuple(columns))
        lines = ("\t".join(re.sub(r"\s", " ", str(label)) for label in row) + "\n" for row in rows)
        Path(directory, labels_file).write_text("".join(lines), encoding="utf-8")
        config.embeddings.add(tensor_name=name, tensor_path=vectors_file, metadata_path=labels_file)
    projector.visualize_embeddings(str(directory), config)


def word_table(tokenizer: Tokenizer, embeddings: tf.Tensor | tf.Variable) -> Table:
    """The most frequent words and their vectors, for `write_projector`.

    Args:
        embeddings: float [words, size].
    """
    ids = tf.range(min(PROJECTED_WORDS, tokenizer.vocabulary_size))
    words = [word.decode("utf-8") for word in tokenizer.ids_to_tokens(ids).numpy()]
    return tf.gather(embeddings, ids), {"word": words}
