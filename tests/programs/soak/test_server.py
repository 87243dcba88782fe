"""The soak of a server; what its clients count is in test_traffic.py."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.commands.calls import call
from tfnmt.errors import UserError
from tfnmt_programs.soak import server


def test_one_client_is_too_few():
    with pytest.raises(UserError, match="^--clients 1: there must be 2 at least, a good one and a rude one$"):
        call("soak-server", "--clients", 1)


def test_a_soak_too_short_for_a_right_answer_is_one_line(monkeypatch):
    soak = server._Soak(SimpleNamespace(rest_url="http://h:1", grpc_url="grpc://h:2"), Path("m"), [], 2, 1)
    soak.good = []
    for name in ("_watch_memory", "_change_versions"):
        monkeypatch.setattr(soak, name, lambda: None)
    monkeypatch.setattr(soak, "_rude", lambda _: threading.Thread())
    monkeypatch.setattr(soak, "_rate_until", lambda _: 0.0)
    monkeypatch.setattr(soak, "_stop", lambda: 0.0)
    with pytest.raises(UserError, match="^no right answer before .* --minutes$"):
        soak.run(1)
