"""What differs between two directories of runs: found in each file that matters, to the last bit."""

import shutil

import h5py
import keras
import numpy as np
import pytest

from tfnmt.training.checkpoints import Checkpoints
from tfnmt.training.progress import Progress
from tfnmt_programs.soak.comparison import differences


def save(directory, seconds=1.0, score=0.5, step=2):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    row = {"epoch": 1, "seconds": seconds, "dev_bleu": score}
    progress = Progress(steps=step, seconds=seconds, best_score=score, history=[row])
    directory.mkdir()
    Checkpoints(directory / "checkpoints", model, progress, keep=2).save()
    model.save_weights(directory / "model.weights.h5")
    progress.write_history(directory / "history.csv")
    return model


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "one"
    save(directory)
    return directory


def test_times_do_not_matter(saved, tmp_path):
    save(tmp_path / "other", seconds=2.0)
    assert differences(saved, tmp_path / "other") == []


def test_a_score_that_differs(saved, tmp_path):
    save(tmp_path / "other", score=0.6)
    assert differences(saved, tmp_path / "other") == ["checkpoint: progress", "history: dev_bleu of epoch 1"]


def test_another_last_checkpoint(saved, tmp_path):
    save(tmp_path / "other", step=3)
    assert differences(saved, tmp_path / "other") == ["checkpoint: name", "checkpoint: progress"]


def test_one_bit_of_a_weight(saved, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(saved, other)
    with h5py.File(other / "model.weights.h5", "r+") as file:
        (name,) = [name for name in names_of_datasets(file) if file[name].shape == (2, 1)][:1]
        values = file[name][()]
        values[0, 0] = np.nextafter(values[0, 0], np.float32(9))
        file[name][...] = values
    (difference,) = differences(saved, other)
    assert difference == f"model: {name}"


def test_one_variable_of_the_optimizer(saved, tmp_path):
    other = tmp_path / "other"
    model = save(other)
    model.optimizer.iterations.assign(7)
    progress = Progress(steps=2, seconds=1.0, best_score=0.5, history=[{"epoch": 1, "seconds": 1.0, "dev_bleu": 0.5}])
    Checkpoints(other / "checkpoints", model, progress, keep=2).save()
    (difference,) = differences(saved, other)
    assert difference.startswith("checkpoint: variables/")


def names_of_datasets(file):
    names = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names
