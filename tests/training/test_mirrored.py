"""Training on several devices of one process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.training.preparation import open_run
from tfnmt.training.replicas import seed_states
from tfnmt.training.strategies import Mirrored
from tfnmt.translation.presets import PRESETS

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[2]


def test_two_devices_train_as_one_does(tmp_path):
    command = [sys.executable, "-m", "tests.training.mirrored", str(tmp_path)]
    done = subprocess.run(
        command, cwd=CHECKOUT, env=os.environ | {"PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert list(found) == ["classifier", "translator"]
    assert all(found.values())
    assert all(difference < 1e-5 for differences in found.values() for difference in differences.values()), found


def test_each_device_draws_numbers_of_its_own(monkeypatch):
    """The first those of a single device."""
    model, mirrored = keras.Sequential([keras.Input([2]), keras.layers.Dropout(0.5)]), Mirrored(["CPU:0"])
    (state,) = seed_states(model)
    first, second = (tf.Variable(state) for _ in range(2))
    monkeypatch.setattr(mirrored.strategy, "experimental_local_results", lambda value: (first, second))
    mirrored.separate_seeds(model)
    np.testing.assert_array_equal(first, state)
    assert not np.array_equal(second, first)


def test_a_machine_without_a_gpu_is_told(logged):
    assert Mirrored().number == 1
    assert logged() == ["--strategy mirrored: TensorFlow finds no GPU; training is on the processor"]


def test_accumulation_is_refused(tmp_path):
    preset, message = PRESETS["tiny"].override(["accumulation_steps=2"]), "accumulation_steps=2: allowed is 1 with"
    with pytest.raises(UserError, match=message), open_run(tmp_path, preset, False, ["bleu"], Mirrored()):
        pass
