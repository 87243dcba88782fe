"""Trains a classifier on one device, and on two as `--strategy mirrored` does; prints by how much the weights differ.

A process can be given two processors as devices only before TensorFlow has started: so this is one of its own.
"""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.classification.training import train_classifier
from tfnmt.training.replicas import ONE_REPLICA
from tfnmt.training.strategies import Mirrored

SETTINGS = ["task=snli", "encoder=spinn", "embedding_size=8", "units=8", "tracker_units=4", "head_units=8"]
SETTINGS += ["head_dropout=0", "embedding_dropout=0", "batch_normalization=false", "batch_size=15", "steps=6"]
SETTINGS += ["selection=loss", "learning_rate=0.01", "accumulation_steps=2", "weight_average=0.9"]


def main(folder: Path) -> None:
    """Train both, in a folder."""
    (processor,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 2)
    preset = CLASSIFIER_PRESETS["tiny"].override([*SETTINGS, *sys.argv[2:]])
    trained, rows = [], []
    for name, replicas in (("one", ONE_REPLICA), ("two", Mirrored(["CPU:0", "CPU:1"]))):
        model, progress = train_classifier(folder / name, preset, replicas=replicas)
        trained.append(model.get_weights())
        rows.append(progress.history[-1])
    print(max(np.max(np.abs(one - two)) for one, two in zip(*trained, strict=True)))
    print(max(abs(rows[0][name] - rows[1][name]) for name in ("loss", "accuracy", "transition_accuracy")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
