"""The comparison of translate-corpus with translate, with processes that copy instead of translating."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
    shell = subprocess.Popen(["sh", "-c", "sleep 1000 & echo; wait"], stdout=subprocess.PIPE)
    shell.stdout.readline()
    while "sh -c" in (command := next(iter(descendants(shell.pid).values()))):  # it is not `sleep` yet
        time.sleep(0.01)
    ((sleep, command),) = descendants(shell.pid).items()
    assert command == "sleep 1000 " and replicas(shell.pid) == [] and descendants(sleep) == {}
    subprocess.run(["kill", str(sleep)], check=True)
    shell.communicate()


def test_what_was_started_ends_with_an_interrupt():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.PIPE)
    with pytest.raises(KeyboardInterrupt), corpus_translation._ended_with_this(process):
        raise KeyboardInterrupt
    assert process.returncode == -signal.SIGTERM
