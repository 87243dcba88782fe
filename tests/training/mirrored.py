"""Trains a classifier and a translator on one device, and on two as `--strategy mirrored` does; prints what differs, as
JSON.

A process can be given two processors as devices only before TensorFlow has started: so this is one of its own.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.classification.training import train_classifier
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.samples.translation import write_sample
from tfnmt.data.tasks import TASKS
from tfnmt.training.replicas import ONE_REPLICA
from tfnmt.training.strategies import Mirrored
from tfnmt.translation.presets import PRESETS
from tfnmt.translation.training import train_translator

SETTINGS = ["batch_size=15", "steps=6", "selection=loss", "warmup_steps=1", "weight_average=0.9"]
CLASSIFIER = ["task=snli", "encoder=spinn", "embedding_size=8", "units=8", "tracker_units=4", "head_units=8"]
CLASSIFIER += ["head_dropout=0", "embedding_dropout=0"]
TRANSLATOR = [f"{name}_embedding_size=8" for name in ("source", "target")]
TRANSLATOR += [f"{name}_units=8" for name in ("encoder", "decoder", "attention")]
TRANSLATOR += ["source_dropout=0", "output_dropout=0"]


def main(folder: Path) -> None:
    """Train all four in a folder, on 50 examples: batches of 15 and of 5. Of 9 or 10, dev scores are computed."""
    (processor,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 2)
    pairs, sentences = TASKS["snli"].write_sample(folder / "pairs"), write_sample(folder / "sentences")
    for name, path in (pairs | sentences).items():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        count = 50 if name.startswith("train") else 10 if path.parent.name == "pairs" else 9
        path.write_text("".join(lines[:count]), encoding="utf-8")
    classifier = CLASSIFIER_PRESETS["tiny"].override([*SETTINGS, *CLASSIFIER])
    translator = PRESETS["tiny"].override([*SETTINGS, *TRANSLATOR])
    two = Mirrored(["CPU:0", "CPU:1"])  # TensorFlow takes the sums of a second one for those of the first
    files = [ParallelFiles(sentences[f"{split}.en"], sentences[f"{split}.de"]) for split in ("train", "dev")]
    found = {
        "classifier": differences(
            two, train_classifier, folder / "classifier", classifier, [pairs["train"]], [pairs["dev"]]
        ),
        "translator": differences(two, train_translator, folder / "translator", translator, *files),
    }
    print(json.dumps(found))


def differences(
    two: Mirrored, train: Callable[..., Any], directory: Path, preset: Any, *files: Any
) -> dict[str, float]:
    """The largest between the weights, and between the scores, of one device and of two. A score of more than 1
    differs by a part of itself."""
    weights, rows = [], []
    for name, replicas in (("one", ONE_REPLICA), ("two", two)):
        model, progress = train(directory / name, preset, *files, replicas=replicas)
        weights.append(model.get_weights())
        rows.append(progress.history[-1])
    pairs = [(rows[0][name], rows[1][name]) for name in rows[0] if name != "seconds"]
    scores = [abs(first - second) / max(abs(first), 1) for first, second in pairs]
    return {
        "weights": float(max(np.max(np.abs(one - two)) for one, two in zip(*weights, strict=True))),
        "scores": max(scores),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
