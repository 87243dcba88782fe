"""Trains a classifier on one device, and on two as `--strategy mirrored` does; prints what differs, as JSON.

A process can be given two processors as devices only before TensorFlow has started: so this is one of its own.
"""

import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.classification.training import train_classifier
from tfnmt.data.tasks import TASKS
from tfnmt.training.replicas import ONE_REPLICA
from tfnmt.training.strategies import Mirrored

SETTINGS = ["task=snli", "encoder=spinn", "embedding_size=8", "units=8", "tracker_units=4", "head_units=8"]
SETTINGS += ["head_dropout=0", "embedding_dropout=0", "batch_size=15", "steps=6", "selection=loss"]
SETTINGS += ["warmup_steps=1", "weight_average=0.9"]


def main(folder: Path) -> None:
    """Train both, in a folder, on 50 pairs: batches of 15 and of 5."""
    (processor,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 2)
    files = TASKS["snli"].write_sample(folder)
    for path, count in ((files["train"], 50), (files["dev"], 10)):
        path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:count]), encoding="utf-8")
    preset = CLASSIFIER_PRESETS["tiny"].override(SETTINGS)
    weights, rows = [], []
    for name, replicas in (("one", ONE_REPLICA), ("two", Mirrored(["CPU:0", "CPU:1"]))):
        model, progress = train_classifier(folder / name, preset, [files["train"]], [files["dev"]], replicas=replicas)
        weights.append(model.get_weights())
        rows.append(progress.history[-1])
    scores = {name: abs(rows[0][name] - rows[1][name]) for name in rows[0] if name != "seconds"}
    differences = [np.max(np.abs(one - two)) for one, two in zip(*weights, strict=True)]
    print(json.dumps({"weights": float(max(differences)), "scores": max(scores.values())}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
