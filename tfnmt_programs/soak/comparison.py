"""What differs between two directories of runs, bit by bit."""

import csv
import json
from pathlib import Path

import h5py
import numpy as np
import tensorflow as tf

from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.model_directory import CHECKPOINTS, HISTORY, WEIGHTS


def differences(one: Path, other: Path) -> list[str]:
    """The names of all that differs: tensors of the model and of the newest checkpoint, scores of the history.

    Times are left aside: `seconds` in the history and in the progress that a checkpoint has.
    """
    return [
        f"{what}: {name}"
        for what, read in (("model", _weights), ("checkpoint", _checkpoint), ("history", _history))
        for name in _different(read(one), read(other))
    ]


def _different(one, other):
    """The keys of two dictionaries of arrays whose values are not the same, or only in one of them."""
    return sorted(one.keys() ^ other.keys()) + sorted(
        name for name in one.keys() & other.keys() if not _same_bits(one[name], other[name])
    )


def _same_bits(one, other):
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def _weights(directory):
    weights = {}
    with h5py.File(directory / WEIGHTS) as file:
        file.visititems(lambda name, item: weights.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return weights


def _checkpoint(directory):
    newest = checkpoint_names(directory / CHECKPOINTS)[0]
    reader = tf.train.load_checkpoint(str(directory / CHECKPOINTS / newest))
    tensors = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    (name,) = [name for name in tensors if name.startswith("progress/")]
    progress = json.loads(tensors.pop(name))
    rows = [{key: value for key, value in row.items() if key != "seconds"} for row in progress.pop("history")]
    del progress["seconds"]
    bookkeeping = {name for name in tensors if name.startswith(("_CHECKPOINTABLE", "save_counter"))}
    tensors = {name: value for name, value in tensors.items() if name not in bookkeeping}
    return tensors | {"progress": json.dumps([progress, rows]), "name": newest}


def _history(directory):
    with open(directory / HISTORY, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {f"{name} of epoch {row['epoch']}": row[name] for row in rows for name in row if name != "seconds"}
