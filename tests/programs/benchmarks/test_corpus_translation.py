"""The comparison of translate-corpus with translate, with processes that copy instead of translating."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ended, group_ended, wait_until
from tfnmt.errors import UserError
from tfnmt_programs.benchmarks import corpus_translation
from tfnmt_programs.benchmarks.corpus_translation import compare_corpus
from tfnmt_programs.soak.processes import descendants, replicas

COPY = """
import pathlib, shutil, sys
verb, *options = sys.argv[1:]
if verb == "translate":
    shutil.copyfileobj(sys.stdin, sys.stdout)
else:
    source, folder = (pathlib.Path(options[options.index(name) + 1]) for name in ("--input", "--output"))
    folder.mkdir(exist_ok=True)
    shutil.copy(source, folder)
    print(f"{folder}: files: 1, lines done now: 1,200")
"""


def compare(tmp_path, monkeypatch, program=COPY):
    def start(command, **options):
        command = [sys.executable, "-c", program, *map(str, command)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)

    monkeypatch.setattr(corpus_translation, "_start", start)
    monkeypatch.setattr(corpus_translation, "_killed_twice", lambda command, unfinished, shards: 800)
    return compare_corpus(Path("model"), 2000, 2, ["--scores"], 4, 1, tmp_path)


def test_figures(tmp_path, monkeypatch):
    figures = compare(tmp_path, monkeypatch)
    assert figures["same_as_translate"] and figures["same_as_translate_killed_twice"]
    assert figures["lines"] == figures["lines_out"] == 2000
    assert (figures["lines_done_when_killed"], figures["lines_done_afterwards"]) == (800, 1200)
    assert figures["lines_done_twice"] == 0
    assert figures["ratio"] == pytest.approx(figures["lines_per_second_corpus"] / figures["lines_per_second_translate"])


def test_a_command_that_fails_says_why(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="ended with status 2: error: no"):
        compare(tmp_path, monkeypatch, "import sys; sys.exit(print('error: no', file=sys.stderr) or 2)")


def test_processes_of_processes_are_found():
    command = ["sh", "-c", "sleep 1000 & echo; wait"]
    with group_ended(subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)) as shell:
        shell.stdout.readline()
        wait_until(lambda: list(descendants(shell.pid).values()) == ["sleep 1000 "])  # before, it is a shell, too
        (sleep,) = descendants(shell.pid)
        assert replicas(shell.pid) == [] and descendants(sleep) == {}


def test_what_was_started_ends_with_an_interrupt():
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE)) as process:
        with pytest.raises(KeyboardInterrupt), corpus_translation._ended_with_this(process):
            raise KeyboardInterrupt
        assert process.returncode == -signal.SIGTERM
