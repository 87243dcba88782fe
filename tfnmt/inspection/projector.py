"""Files of TensorBoard's embedding projector, written directly: Keras's own callback is broken in Keras 3."""

import csv
from pathlib import Path

import numpy as np


def write_projector(directory, tables):
    """Let TensorBoard's projector show vectors with labels.

    Args:
        directory: a folder of event files.
        tables: {name: (vectors, columns)}: float [rows, size], and a dictionary from a column's title to a list of
            that many labels (numbers colour the points by value).

    https://github.com/tensorflow/tensorboard/blob/master/tensorboard/plugins/projector/projector_config.proto
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    entries = []
    for name, (vectors, columns) in tables.items():
        vectors_file, labels_file = f"{name}_vectors.tsv", f"{name}_labels.tsv"
        np.savetxt(directory / vectors_file, np.asarray(vectors), fmt="%.5g", delimiter="\t")
        _write_labels(directory / labels_file, columns)
        entries.append(
            "embeddings {\n"
            f'  tensor_name: "{name}"\n  tensor_path: "{vectors_file}"\n  metadata_path: "{labels_file}"\n'
            "}\n"
        )
    Path(directory, "projector_config.pbtxt").write_text("".join(entries), encoding="utf-8")


def _write_labels(path, columns):
    """One line for each row; a head line only where there are several columns, as the projector wants it."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE, escapechar=" ", lineterminator="\n")
        if len(columns) > 1:
            writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
