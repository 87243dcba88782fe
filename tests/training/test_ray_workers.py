"""How Ray is asked for the workers of a training, and what happens when they end; most of it without Ray."""

import contextlib
import importlib
import os
import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tfnmt.errors import InterruptedBySignal, UserError
from tfnmt.ray_start import import_ray
from tfnmt.training import ray_workers
from tfnmt.training.ray_workers import _fit, _log_shown, train_by_ray
from tfnmt.training.run_lock import lock_directory
from tfnmt.training.workers import WorkerLostError


@pytest.fixture
def told(monkeypatch):
    """With a fake for Ray: the signals that the workers are told of, and an event that the first of them sets."""
    told = SimpleNamespace(signals=[], event=threading.Event())

    def set_signal(number):
        told.signals.append(number)
        told.event.set()

    stop = SimpleNamespace(set=SimpleNamespace(remote=set_signal))
    ray = SimpleNamespace(remote=lambda **_: lambda _: SimpleNamespace(remote=lambda: stop))
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(ray_workers, "ray_started", lambda _: contextlib.nullcontext(ray))
    return told


@pytest.fixture
def resumed(told, monkeypatch):
    """Whether each start of the workers was told to resume; one of them dies at the first two."""
    resumed = []

    def fit(work, directory, workers, resume, stop):
        resumed.append(resume)
        if len(resumed) < 3:
            raise WorkerLostError("worker 1 has ended (killed)")
        return "the best score"

    monkeypatch.setattr(ray_workers, "_fit", fit)
    return resumed


def test_workers_are_started_again_when_one_has_died(resumed, tmp_path, logged):
    assert train_by_ray(None, tmp_path / "run", 2, max_failures=2) == "the best score"
    assert resumed == [False, True, True]
    assert logged() == [f"worker 1 has ended (killed): starting again, {i} of 2 times" for i in (1, 2)]


def test_workers_are_not_started_more_often_than_is_allowed(resumed, tmp_path):
    message = r"^worker 1 has ended \(killed\); --max-failures 1 allows no other start$"
    with pytest.raises(UserError, match=message):
        train_by_ray(None, tmp_path / "run", 2, max_failures=1)
    assert resumed == [False, True]


def test_another_run_in_the_directory_is_told_of_before_ray_starts_and_keeps_its_storage(resumed, tmp_path):
    with lock_directory(tmp_path / "run"):
        (tmp_path / "run" / ".ray").mkdir()
        with pytest.raises(UserError, match="another run is writing there"):
            train_by_ray(None, tmp_path / "run", 2, max_failures=2)
        assert (tmp_path / "run" / ".ray").exists() and not resumed


def test_a_mistake_of_the_user_starts_nothing_again(told, tmp_path, monkeypatch):
    starts = []

    def fit(*_):
        starts.append(1)
        raise UserError("line 3: is no number")

    monkeypatch.setattr(ray_workers, "_fit", fit)
    with pytest.raises(UserError, match="^line 3: is no number$"):
        train_by_ray(None, tmp_path / "run", 2, max_failures=2)
    assert len(starts) == 1


def test_workers_are_told_of_a_signal_and_waited_for(told, tmp_path, monkeypatch):
    ended = []

    def fit(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        ended.append(told.event.wait(60))

    monkeypatch.setattr(ray_workers, "_fit", fit)
    with pytest.raises(InterruptedBySignal, match="interrupted by SIGTERM; nothing is saved yet: start it again"):
        train_by_ray(None, tmp_path / "run", 2, max_failures=2)
    assert told.signals == [signal.SIGTERM] and ended == [True]
    save_checkpoint(tmp_path / "run")
    with pytest.raises(InterruptedBySignal, match=f"interrupted by SIGTERM; --resume {tmp_path}/run goes on"):
        train_by_ray(None, tmp_path / "run", 2, max_failures=2)


def save_checkpoint(directory):
    path = directory / "checkpoints" / "step-0.index"
    path.parent.mkdir(parents=True)
    path.touch()


def test_lines_that_are_added_to_the_log_are_shown_when_they_are_whole(tmp_path, monkeypatch, logged):
    shows, time = [], "2026-01-01 00:00:00 "

    def repeatedly(show, seconds):
        shows.append(show)
        return contextlib.nullcontext()

    def add(text):
        with open(tmp_path / "log.txt", "a", encoding="utf-8") as file:
            file.write(text)

    monkeypatch.setattr(ray_workers, "repeatedly", repeatedly)
    add(f"{time}of an earlier session\n")
    with _log_shown(tmp_path / "log.txt"):
        (show,) = shows
        add(f"{time}one\n{time}two, h")
        show()
        assert logged() == ["one"]
        add("älf\n")
        show()
        assert logged() == ["two, hälf"]
        add(f"{time}three\n")
    assert logged() == ["three"]


@pytest.mark.parametrize("failure, reason", [(MemoryError(), "MemoryError"), (RuntimeError("boom\nat x"), "boom")])
def test_a_dead_worker_is_named_with_its_reason_also_where_its_error_says_nothing(failure, reason, monkeypatch):
    import_ray()
    train, tensorflow = (importlib.import_module(f"ray.train{name}") for name in ("", ".tensorflow"))

    def fit():
        error = train.TrainingFailedError("no message of ours")
        error.worker_failures = {1: failure}
        raise error

    monkeypatch.setattr(tensorflow, "TensorflowTrainer", lambda *_, **options: SimpleNamespace(fit=fit))
    monkeypatch.setattr(import_ray(), "cluster_resources", dict)
    with pytest.raises(WorkerLostError, match=rf"^worker 1 has ended \({reason}\)$"):
        _fit(None, Path("run"), 2, False, None)


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
