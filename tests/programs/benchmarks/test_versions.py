"""Two checkouts beside each other: scripts that only write down what a training or a search would."""

import pytest

from tfnmt.errors import UserError
from tfnmt_programs.benchmarks import versions

TRAIN = """
import pathlib, sys
output = pathlib.Path(sys.argv[sys.argv.index("--output") + 1])
output.mkdir()
rows = ["epoch,seconds,dev_bleu", "1,10.0,0.5", "2,{second},{bleu}"]
(output / "history.csv").write_text("\\n".join(rows) + "\\n")
"""
SEARCH = """
import sys
assert sys.argv[sys.argv.index("--model") + 1].endswith("multi30k")
print('{{"ours": {rate}}}')
"""


@pytest.fixture
def checkout(tmp_path):
    def make(name, second, bleu, rate):
        scripts = tmp_path / name / "scripts"
        scripts.mkdir(parents=True)
        for script in ("train_translator", "train_classifier"):
            (scripts / f"{script}.py").write_text(TRAIN.format(second=second, bleu=bleu))
        (scripts / "benchmark.py").write_text(SEARCH.format(rate=rate))
        return scripts.parent

    return make


def test_the_ratio_is_that_of_the_rates_after_and_before(checkout, monkeypatch):
    monkeypatch.setattr(versions, "ROOT", checkout("after", 12.0, 2.0, 300.0))
    figures = versions.compare_versions(checkout("before", 14.0, 2.5, 200.0), 3, ["multi30k", "greedy"])
    assert figures["multi30k"] == {
        "after": 0.5,
        "before": 0.25,
        "ratio": 2.0,
        "ratio_min": 2.0,
        "ratio_max": 2.0,
        "dev_after": 2.0,
        "dev_before": 2.5,
    }
    assert figures["greedy"]["ratio"] == 1.5


def test_a_script_that_fails_is_named_with_its_last_line(checkout, tmp_path, monkeypatch):
    monkeypatch.setattr(versions, "ROOT", checkout("after", 12.0, 2.0, 1.0))
    before = checkout("before", 12.0, 2.0, 1.0)
    (before / "scripts" / "train_classifier.py").write_text("raise SystemExit('no such task')")
    with pytest.raises(UserError, match=r"train_classifier\.py .*: status 1: no such task"):
        versions.compare_versions(before, 1, ["spinn"])


def test_a_search_needs_the_translator(tmp_path):
    with pytest.raises(UserError, match="multi30k"):
        versions.compare_versions(tmp_path, 1, ["greedy"])


def test_a_work_that_is_not_known_is_named(tmp_path):
    with pytest.raises(UserError, match="fast: .*greedy"):
        versions.compare_versions(tmp_path, 1, ["fast"])
