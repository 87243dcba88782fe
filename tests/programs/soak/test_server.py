"""The soak of a server; what its clients count is in test_traffic.py."""

import contextlib
import os
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.commands.calls import call
from tfnmt.errors import UserError
from tfnmt_programs.measuring import resident_memory
from tfnmt_programs.soak import server

SERVER = SimpleNamespace(rest_url="http://h:1", grpc_url="grpc://h:2", stop=lambda: 0.0)


def test_options_that_make_no_sense():
    for minutes in ("0", "-1", "inf", "nan"):
        with pytest.raises(UserError, match=f"^--minutes {minutes}: should be more than 0 and less than 100,000$"):
            call("soak-server", f"--minutes={minutes}")
    with pytest.raises(UserError, match="^--clients 1: there must be 2 at least, a good one and a rude one$"):
        call("soak-server", "--clients", 1)


def test_a_folder_of_models_needs_the_name_of_one():
    with pytest.raises(UserError, match="^--models: means nothing without --model"):
        call("soak-server", "--models", "saved_models")


def test_the_memory_of_a_server_is_watched_as_long_as_it_has_any():
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        processes = [SimpleNamespace(pid=os.getpid()), ended]  # the second is there, but without memory
        server_process = SimpleNamespace(rest_url="http://h:1", grpc_url="grpc://h:2", process=None)
        soak = server._Soak(server_process, Path("m"), [], 2, 1)

        def wait(seconds):
            server_process.process = processes.pop(0) if processes else None
            return server_process.process is None

        soak.end = SimpleNamespace(wait=wait)
        soak._watch_memory()
    ((_, megabytes),) = soak.memory
    assert megabytes == pytest.approx(resident_memory() / 2**20, rel=0.5)


def test_a_soak_too_short_to_measure_memory_is_one_line():
    with pytest.raises(UserError, match="^no measurement of the server's memory: give it more --minutes$"):
        server._median_memory([(1.0, 100.0)], 2.0, 3.0)
    assert server._median_memory([(1.0, 100.0), (2.0, 200.0), (3.0, 300.0)], 2.0, 3.0) == 250.0


def test_what_ends_a_thread_before_its_time_is_told(monkeypatch):
    soak = server._Soak(SERVER, Path("m"), [], 2, 1)
    soak.good = []
    monkeypatch.setattr(soak, "_watch_memory", lambda: None)
    monkeypatch.setattr(soak, "_rude", lambda _: threading.Thread())
    monkeypatch.setattr(soak, "_rate_until", lambda _: 1.0)

    def fails():
        raise OSError("no versions")

    monkeypatch.setattr(soak, "_change_versions", fails)
    with pytest.raises(OSError, match="^no versions$"):
        soak.run(1)


@pytest.mark.parametrize("name", ["lost", "stop_status", "rude_unanswered", None])
def test_the_status_of_a_soak(name, monkeypatch, tmp_path):
    figures = dict.fromkeys(
        ("lost", "mixed", "server_errors", "server_errors_to_rude", "rude_unanswered", "stop_status"), 0
    )
    monkeypatch.setattr(server, "soak_server", lambda *_: figures | ({name: -6} if name else {}))
    with pytest.raises(SystemExit, match="1") if name else contextlib.nullcontext():
        call("soak-server", "--model", "m", "--models", tmp_path)


def test_a_soak_too_short_for_a_right_answer_is_one_line(monkeypatch):
    soak = server._Soak(SERVER, Path("m"), [], 2, 1)
    soak.good = []
    for name in ("_watch_memory", "_change_versions"):
        monkeypatch.setattr(soak, name, lambda: None)
    monkeypatch.setattr(soak, "_rude", lambda _: threading.Thread())
    monkeypatch.setattr(soak, "_rate_until", lambda _: 0.0)
    with pytest.raises(UserError, match="^no right answer before .* --minutes$"):
        soak.run(1)
