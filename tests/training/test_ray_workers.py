"""How Ray is asked for the workers of a training."""

import importlib
from pathlib import Path
from types import SimpleNamespace

from tfnmt.ray_start import import_ray
from tfnmt.training.ray_workers import _fit


def test_workers_are_on_machines_of_their_own_if_there_are_enough(monkeypatch):
    ray, given = import_ray(), {}  # with the environment that other tests of Ray need, too
    tensorflow = importlib.import_module("ray.train.tensorflow")

    def trainer(_, **options):
        given.update(options)
        return SimpleNamespace(fit=lambda: SimpleNamespace(return_value="the best score"))

    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 16.0})
    monkeypatch.setattr(tensorflow, "TensorflowTrainer", trainer)
    assert _fit(None, Path("run"), 4, False, None) == "the best score"
    scaling = given["scaling_config"]
    assert (scaling.num_workers, scaling.use_gpu, scaling.placement_strategy) == (4, False, "SPREAD")
