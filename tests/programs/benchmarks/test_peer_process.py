"""The protocol with a peer's worker. PyTorch and the other toolkits need not be installed."""

import ast
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.processes import wait_until
from tfnmt.errors import UserError
from tfnmt_programs.benchmarks import peer_process
from tfnmt_programs.benchmarks.peer_process import PEERS, PeerProcess
from tfnmt_programs.benchmarks.spinn_peer import spinn_process
from tfnmt_programs.benchmarks.tree_batches import random_batches
from tfnmt_programs.graphs.cases import sentence_batch
from tfnmt_programs.graphs.steps_in_torch import steps_of_translator

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")


def test_a_worker_that_ends_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(peer_process, "PEERS", tmp_path)
    (tmp_path / "worker.py").write_text("import a_peer_that_is_not_installed")
    with PeerProcess(sys.executable, "worker.py", {}, []) as peer:
        with pytest.raises(UserError, match="has ended: ModuleNotFoundError: No module named 'a_peer_that"):
            peer.answer()
        with pytest.raises(UserError, match="has ended: ModuleNotFoundError"):
            peer.ask()
    with pytest.raises(UserError, match="nowhere/python: No such file or directory; name a Python"):
        PeerProcess(tmp_path / "nowhere" / "python", "worker.py", {}, [])


def test_nothing_of_a_worker_stays(tmp_path, monkeypatch):
    """Neither what it has started nor its files."""
    monkeypatch.setattr(peer_process, "PEERS", tmp_path)
    (tmp_path / "worker.py").write_text("""
import json, subprocess, sys, tempfile
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(json.dumps([child.pid, tempfile.mkdtemp()]), flush=True)
sys.stdin.read()
""")
    with PeerProcess(sys.executable, "worker.py", {}, []) as peer:
        child, folder = peer.answer()
        assert Path(folder).is_dir() and Path(f"/proc/{child}").exists()
    assert not Path(folder).exists()
    wait_until(lambda: not Path(f"/proc/{child}").exists() or " Z " in Path(f"/proc/{child}/stat").read_text())


def test_a_worker_gets_settings_and_batches_and_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(peer_process, "PEERS", tmp_path)
    (tmp_path / "worker.py").write_text("""
import json, sys, numpy
settings, arrays = json.load(open(sys.argv[1])), numpy.load(sys.argv[2])
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    print(json.dumps(settings["factor"] * (arrays["numbers_0"] + arrays["numbers_1"]).tolist()), flush=True)
""")
    batches = [{"numbers": np.arange(2)}, {"numbers": np.arange(2)}]
    with PeerProcess(sys.executable, "worker.py", {"factor": 2}, batches) as peer:
        assert peer.answer() == "ready"
        assert [peer.ask(), peer.ask()] == [[0, 2, 0, 2], [0, 2, 0, 2]]


@pytest.mark.parametrize("path", sorted(PEERS.glob("*.py")), ids=lambda path: path.name)
def test_a_worker_compiles_and_finds_what_it_imports_from_beside_it(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    compile(tree, path.name, "exec")
    for module, names in imported_names(tree):
        assert not module.startswith("tfnmt")  # it runs where this project is not
        if Path(PEERS, f"{module}.py").exists():
            assert names <= defined_names(Path(PEERS, f"{module}.py"))


def imported_names(tree):
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [(node.module, {alias.name for alias in node.names}) for node in imports]


def defined_names(path):
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.Assign):
            names |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return names


SPINN = {"encoder_alone": False, "vocabulary_size": 10_000, "embedding_size": 4, "units": 4, "seed": 1, "threads": 1}
SPINN |= {"head_units": 4, "head_layers": 1, "classes": 3, "learning_rate": 0.01}


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("tracker_units, parse", [(None, "given"), (3, "given"), (3, "predicted"), (3, "sampled")])
def test_the_real_spinn_worker_trains(tracker_units, parse):
    settings = SPINN | {"tracker_units": tracker_units, "parse": parse, "embedding_dropout": 0.1, "head_dropout": 0.1}
    with spinn_process(sys.executable, settings, random_batches(batch_size=3, count=2, seed=1)) as peer:
        assert peer.answer()["weights"]
        answer = peer.ask()
        assert len(answer["each"]) == 2 and answer["seconds"] == pytest.approx(sum(answer["each"]))


@pytest.mark.slow
@needs_torch
def test_trees_by_level_have_the_roots_of_the_post_s_way(monkeypatch):
    """The same weights, the same sentences; and the worker trains."""
    monkeypatch.syspath_prepend(PEERS)
    import torch
    from spinn_worker import read_batches

    from spinn_by_level import LevelClassifier, levels
    from spinn_model import Classifier

    batches = random_batches(batch_size=3, count=2, seed=1)
    settings = SPINN | {"tracker_units": None, "parse": "given", "embedding_dropout": 0.0, "head_dropout": 0.0}
    torch.manual_seed(1)
    post, by_level = Classifier(settings).eval(), LevelClassifier(settings).eval()
    weights = post.state_dict()
    left, right = (weights.pop(f"encoder.reduce.{side}.weight") for side in ("left", "right"))
    weights["encoder.both.weight"] = torch.cat([left, right], 1)
    weights["encoder.both.bias"] = weights.pop("encoder.reduce.left.bias")
    by_level.load_state_dict(weights)
    with spinn_process(sys.executable, settings, batches, "spinn_by_level_worker.py") as peer:
        arrays_file = Path(peer.folder.name, "arrays.npz")
        for (sentences, _), (given, _) in zip(read_batches(arrays_file, sides=2), batches, strict=True):
            expected, _ = post(sentences)
            torch.testing.assert_close(by_level(levels(given["words"], given["transitions"])), expected)
        assert peer.answer()["weights"].keys() <= weights.keys()
        assert peer.ask()["seconds"] > 0


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("decodes", [False, True])
def test_the_real_translator_worker_runs(decodes):
    settings = {"units": 4, "vocabulary_size": 1000, "decodes": decodes, "threads": 1}
    batch = {name: ids.numpy() for name, ids in sentence_batch(2, 3, np.random.default_rng(1)).items()}
    (seconds,) = steps_of_translator(sys.executable, settings, [batch], repetitions=1)
    assert seconds > 0
