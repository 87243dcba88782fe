"""Options about workers: what goes together, and what a worker is to do."""

import argparse
import io
import sys

import pytest

from tests.commands.calls import call
from tfnmt.commands import workers
from tfnmt.commands.workers import run_training
from tfnmt.errors import UserError


def options(**values):
    defaults = {"output": "run", "resume": None, "workers": None, "strategy": None, "max_failures": None}
    defaults["preset"] = "tiny"
    return argparse.Namespace(**defaults | values)


def test_without_workers_the_process_trains():
    output = io.StringIO()
    run_training(lambda arguments: f"{arguments.output}: best", options(), output)
    assert output.getvalue() == "run: best\n"


def test_a_process_that_does_not_score_prints_nothing():
    output = io.StringIO()
    run_training(lambda arguments: None, options(), output)
    assert output.getvalue() == ""


def test_starting_workers_again_without_workers():
    with pytest.raises(UserError, match="--max-failures: means nothing without --workers"):
        run_training(lambda _: None, options(max_failures=2), io.StringIO())


def test_workers_and_another_strategy(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(UserError, match="--workers 2: goes with --strategy multiworker"):
        run_training(lambda _: None, options(workers=2, strategy="mirrored"), io.StringIO())


def test_workers_beside_tf_config(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{}")
    with pytest.raises(UserError, match="--workers: TF_CONFIG names the workers already"):
        run_training(lambda _: None, options(workers=2), io.StringIO())


def test_without_ray_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install '\.\[ray\]'"):
        run_training(lambda _: None, options(workers=2, output=str(tmp_path / "run")), io.StringIO())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("verb", "options", "complaint"),
    [
        ("train-translator", ["--dry-run"], "--dry-run: is about a new run in one process; leave out --workers"),
        ("train-translator", ["--preset", "tinny"], "unknown preset 'tinny'"),
        ("train-translator", ["--config", "none.yaml"], "none.yaml: cannot be read"),
        ("train-translator", ["--source", "a.tsv"], "--dev-source is missing"),
        ("train-translator", ["--profile-steps", "1-2", "--no-board"], "--profile-steps writes for TensorBoard"),
        ("train-classifier", ["--encoder", "bag"], "--task is missing"),
        ("train-classifier", ["--task", "sst", "--encoder", "bag", "--set", "unit=8"], "unknown key 'unit'"),
        ("train-classifier", ["--task", "sst", "--encoder", "bag", "--words", "F"], "--words: means nothing without"),
    ],
)
def test_what_is_wrong_is_told_before_ray_starts(verb, options, complaint, monkeypatch, tmp_path):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=complaint):
        call(verb, "--output", tmp_path / "run", "--workers", 2, *options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("option", "number", "minimum"),
    [("--workers", "0", 1), ("--workers", "-1", 1), ("--workers", "two", 1), ("--max-failures", "-1", 0)],
)
def test_a_number_that_is_none(option, number, minimum, capsys):
    with pytest.raises(SystemExit) as ended:
        call("train-translator", "--output", "run", option, number)
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"error: argument {option}: {number} is not a whole number from {minimum}; --help lists all options"


@pytest.mark.parametrize("again", [False, True])
def test_workers_that_start_again_resume(again, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "import_tensorflow", lambda: None)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "step-5.index").touch()
    seen = []
    of_run = {"vectors": "glove.txt", "words": ["test.txt"], "set": ["embedding_size=9"], "epochs": "3", "steps": None}
    given = options(output=str(tmp_path), workers=2, **of_run)
    workers._in_worker(seen.append, given, again)
    (arguments,) = seen
    assert arguments.strategy == "multiworker"
    assert (arguments.vectors, arguments.words) == ((None, None) if again else ("glove.txt", ["test.txt"]))
    if again:
        assert (arguments.resume, arguments.output, arguments.preset) == (str(tmp_path), None, None)
        assert (arguments.set, arguments.epochs, arguments.steps) == ([], None, None)
    else:
        assert (arguments.resume, arguments.output, arguments.preset) == (None, str(tmp_path), "tiny")


@pytest.mark.parametrize(("dev_split", "train"), [(None, "train.txt"), (100, None)])
def test_workers_that_start_again_take_the_parts_of_the_run(dev_split, train, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "import_tensorflow", lambda: None)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "step-5.index").touch()
    seen = []
    workers._in_worker(
        seen.append, options(output=str(tmp_path), workers=2, train="train.txt", dev_split=dev_split), True
    )
    assert (seen[0].train, seen[0].dev_split) == (train, None)
