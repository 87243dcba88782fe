"""Two checkouts beside each other: scripts that only write down what a training or a search would."""

import itertools
import sys
from pathlib import Path

import pytest

from tests.processes import wait_until
from tfnmt.errors import UserError
from tfnmt_programs.benchmarks import slices, versions

TRAIN = """
import pathlib, sys, time
option = lambda name: sys.argv[sys.argv.index(name) + 1]
output = pathlib.Path(option("--output"))
output.mkdir()
with open(output / "history.csv", "w", buffering=1) as history:
    history.write("epoch,dev_bleu\\n")
    for epoch in range(1, int(option("--epochs")) + 1):
        time.sleep({seconds})
        history.write(f"{{epoch}},{bleu}\\n")
"""
SEARCH = """
import sys
assert sys.argv[sys.argv.index("--model") + 1].endswith("multi30k")
sys.stdout.write(sys.stdin.read())
"""


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.1)


@pytest.fixture
def checkout(tmp_path):
    def make(name, seconds, bleu):
        scripts = tmp_path / name / "scripts"
        scripts.mkdir(parents=True)
        for script in ("train_translator", "train_classifier"):
            (scripts / f"{script}.py").write_text(TRAIN.format(seconds=seconds, bleu=bleu))
        (scripts / "translate.py").write_text(SEARCH)
        return scripts.parent

    return make


def test_the_faster_version_has_the_higher_rate(checkout, monkeypatch):
    monkeypatch.setattr(versions, "ROOT", checkout("after", 0.1, 2.0))
    figures = versions.compare_versions(checkout("before", 0.6, 2.5), 2, ["multi30k"])["multi30k"]
    assert figures["after"] > figures["before"]
    assert figures["ratio_min"] <= figures["ratio"] <= figures["ratio_max"]
    assert (figures["dev_after"], figures["dev_before"]) == (2.0, 2.5)


def test_a_search_translates_each_round_s_sentences(checkout, monkeypatch, tmp_path):
    source = tmp_path / "source"
    source.write_text("a\nb\n")
    side = versions.Checkout(checkout("after", 0, 1.0), tmp_path, rounds=3)
    search = side.search("greedy", source)
    slices.run_in_turn([search])
    assert search.units_done() == 4
    assert len(search.seconds_of_units()) == 3


@pytest.mark.parametrize("measure", ["dev_bleu", "dev_accuracy"])
def test_the_dev_score_is_the_last_epochs_also_where_it_is_0(measure, tmp_path):
    (tmp_path / "spinn").mkdir()
    (tmp_path / "spinn" / "history.csv").write_text(f"epoch,{measure}\n1,2.5\n2,0.0\n")
    assert versions.Checkout(tmp_path, tmp_path, rounds=1).dev_score("spinn") == 0.0


def test_programs_never_run_at_the_same_time(tmp_path):
    """While one runs, the other is stopped, until both may end."""
    end, looks = tmp_path / "end", []
    wait = f"import os, time\nwhile not os.path.exists({str(end)!r}): time.sleep(0.01)"

    def program(name, other):
        def look():
            if not end.exists():
                wait_until(lambda: state(programs[other]) == "T", seconds=10)
                looks.append(name)
            if [name for name, _ in itertools.groupby(looks)] == ["a", "b", "a", "b"]:
                end.touch()
            return 0

        folder = tmp_path / name
        folder.mkdir()
        return slices.SlicedProgram([sys.executable, "-c", wait], folder, {}, look)

    programs = {"a": program("a", "b"), "b": program("b", "a")}
    slices.run_in_turn(list(programs.values()))
    assert end.exists()


def state(program):
    """That of the process, as Linux has it in one letter."""
    return Path(f"/proc/{program.process.pid}/stat").read_text().rpartition(") ")[2][0]


def test_a_script_that_fails_is_named_with_its_last_line(checkout, tmp_path, monkeypatch):
    monkeypatch.setattr(versions, "ROOT", checkout("after", 0, 1.0))
    before = checkout("before", 0, 1.0)
    (before / "scripts" / "train_classifier.py").write_text("raise SystemExit('no such task')")
    with pytest.raises(UserError, match=r"train_classifier\.py .*: status 1: no such task"):
        versions.compare_versions(before, 1, ["spinn"])


def test_a_search_needs_the_translator(tmp_path):
    with pytest.raises(UserError, match="multi30k"):
        versions.compare_versions(tmp_path, 1, ["greedy"])


def test_a_work_that_is_not_known_is_named(tmp_path):
    with pytest.raises(UserError, match="fast: .*greedy"):
        versions.compare_versions(tmp_path, 1, ["fast"])
