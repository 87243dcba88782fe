"""Runs that are disturbed: here, small programs that count, and go on from where they were."""

import sys

import pytest

from tfnmt.errors import UserError
from tfnmt_programs.commands.soak import CASES as OFFERED
from tfnmt_programs.soak.training import CASES, disturbed_runs

COUNTER = """
import os, pathlib, signal, sys, time

directory = pathlib.Path(sys.argv[1])
directory.mkdir(exist_ok=True)
path = directory / "count"
count = int(path.read_text()) if path.exists() else 0

def save():
    part = directory / "part"
    with open(part, "w") as file:
        file.write(str(count))
        file.flush()
    os.replace(part, path)

def terminated(*_):
    save()
    os._exit(143)

signal.signal(signal.SIGTERM, terminated)
while count < 80:
    time.sleep(0.005)
    count += 1
    try:
        save()
    except OSError:
        sys.exit(2)
(directory / "restarts").write_text(str(int(count != 80) + FORGOTTEN))
"""


@pytest.fixture
def session(tmp_path):
    def make(program):
        path = tmp_path / "counter.py"
        path.write_text(program)
        return lambda directory: [sys.executable, str(path), str(directory)]

    return make


def compare(one, other):
    return [name for name in ("count", "restarts") if (one / name).read_text() != (other / name).read_text()]


def test_the_verb_offers_every_training():
    assert tuple(CASES) == OFFERED


def test_runs_that_lose_nothing_are_equal(session, tmp_path):
    figures = disturbed_runs(
        session(COUNTER.replace("FORGOTTEN", "0")), compare, tmp_path, kills=6, seed=1, longest_wait=0.4
    )
    assert figures["differences"] == []
    assert sum(figures[kind] for kind in ("kill", "terminate", "full_disk")) == 6
    assert figures["runs"] >= 1


def test_what_a_run_has_lost_is_named(session, tmp_path):
    forgetful = COUNTER.replace("FORGOTTEN", "(0 if sys.argv[1].endswith('alone') else 1)")
    figures = disturbed_runs(session(forgetful), compare, tmp_path, kills=2, seed=1, longest_wait=0.4)
    assert figures["differences"] == ["restarts"]


def test_a_run_that_ends_otherwise_than_it_must_is_told(session, tmp_path):
    stubborn = COUNTER.replace("FORGOTTEN", "0").replace("os._exit(143)", "os._exit(0)").replace("sys.exit(2)", "break")
    with pytest.raises(UserError, match="ended by itself, with status 1"):
        disturbed_runs(session("raise SystemExit(1)"), compare, tmp_path, kills=1, seed=1)
    with pytest.raises(UserError, match="ended with status 3, not"):
        disturbed_runs(
            session(stubborn.replace("os._exit(0)", "os._exit(3)")), compare, tmp_path, 8, seed=2, longest_wait=0.3
        )
