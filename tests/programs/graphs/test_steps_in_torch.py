"""Steps of the same models in PyTorch, which is not installed here: a worker takes its place."""

import json
import sys

import numpy as np
import pytest

from tfnmt_programs.graphs.cases import make_cases, sentence_batch, tree_batch
from tfnmt_programs.graphs.comparison import compare

FAKE_WORKER = """
import json, sys, numpy
settings = json.load(open(sys.argv[1]))
with numpy.load(sys.argv[2]) as arrays:
    names = sorted(name for name in arrays if name.endswith("_0"))
json.dump(settings | {"names": names}, open(OUTPUT, "w"))
print(json.dumps({"weights": {}, "torch": "none"}), flush=True)
for each in ([9.0, 9.0], [0.5, 1.0], [0.25, 3.0], [0.125, 2.0]):
    sys.stdin.readline()
    print(json.dumps({"each": each}), flush=True)
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """A function: what the worker was told."""
    for name in ("spinn", "translator"):
        text = FAKE_WORKER.replace("OUTPUT", repr(str(tmp_path / "told.json")))
        (tmp_path / f"{name}_worker.py").write_text(text)
    monkeypatch.setattr("tfnmt_programs.benchmarks.peer_process.PEERS", tmp_path)
    return lambda: json.loads((tmp_path / "told.json").read_text())


def steps(name, make_batch):
    case = make_cases()[name]
    random = np.random.default_rng(1)
    batches = [{key: ids.numpy() for key, ids in make_batch(2, 3, random).items()} for _ in range(2)]
    return case.steps_in_torch(sys.executable, case.torch_settings(8) | {"threads": 1}, batches, repetitions=3)


@pytest.mark.parametrize("name, decodes", [("encoder", False), ("decoder", True)])
def test_the_median_of_a_translators_steps_after_the_first(told, name, decodes):
    assert steps(name, sentence_batch) == [0.25, 2.0]
    assert (told()["decodes"], told()["units"], told()["threads"]) == (decodes, 8, 1)
    assert told()["names"] == ["source_0", "target_0"]


@pytest.mark.parametrize("name, tracker_units", [("spinn-pi-nt", None), ("rl-spinn", 4)])
def test_the_median_of_spinns_steps_after_the_first(told, name, tracker_units):
    assert steps(name, tree_batch) == [0.25, 2.0]
    assert (told()["encoder_alone"], told()["tracker_units"]) == (True, tracker_units)
    assert {"words_0", "transitions_0"} <= set(told()["names"])


def test_a_comparison_has_them_as_its_third_column(told):
    found = compare(make_cases()["encoder"], 3, [1], [2, 3], repetitions=3, torch=(sys.executable, 1))
    assert found.peer_steps == [0.25, 2.0]
