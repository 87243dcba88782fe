"""Starting Ray: on this machine alone, or not at all, with one line that says why."""

import os
import signal
import socket
import sys
from types import SimpleNamespace

import pytest

from tfnmt.errors import UserError
from tfnmt.ray_start import import_ray, ray_started


@pytest.mark.slow
def test_it_binds_to_this_machine_alone_and_passes_errors_on(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    sigterm = signal.getsignal(signal.SIGTERM)

    def fail():
        raise UserError("line 3: is no number")

    with pytest.raises(UserError, match="^line 3: is no number$"), ray_started(processors=1) as ray:
        assert ray.get_runtime_context().gcs_address.startswith("127.0.0.1:")
        assert [node["NodeManagerAddress"] for node in ray.nodes()] == ["127.0.0.1"]
        assert signal.getsignal(signal.SIGTERM) == sigterm
        with ray_started():
            pass
        assert ray.is_initialized(), "who has found it started leaves it so"
        ray.get(ray.remote(fail).remote())
    assert not ray.is_initialized()


def test_of_errors_that_were_raised_from_one_another_the_last_is_told(monkeypatch):
    """Which names the file; Ray's text has the causes before it."""
    text = "ray::f()\nUserError: unknown key\n\nThe above was the cause:\n\nUserError: a/config.json: unknown key"
    fake = SimpleNamespace(is_initialized=lambda: True, exceptions=SimpleNamespace(RayError=OSError))
    monkeypatch.setattr("tfnmt.ray_start.import_ray", lambda: fake)
    with pytest.raises(UserError, match=r"^a/config\.json: unknown key$"), ray_started():
        raise OSError(text)


def test_a_cluster_that_does_not_answer_is_told_at_once(monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError, match=f"^RAY_ADDRESS={address}: the cluster does not answer"), ray_started():
        pass


@pytest.mark.parametrize("address", ["nonsense", "host:port", ":6379"])
def test_an_address_that_is_none(monkeypatch, address):
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError, match="allowed is HOST:PORT"), ray_started():
        pass


@pytest.mark.parametrize("address", ["a..b:6379", "a" * 64 + ":6379"])
def test_a_host_that_no_name_can_be(monkeypatch, address):
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError, match=f"^RAY_ADDRESS={address}: the cluster does not answer"), ray_started():
        pass


@pytest.mark.parametrize("address, here", [("", True), ("local", True), ("10.0.0.1:6379", False)])
def test_what_is_started_here_binds_to_127_0_0_1_however_that_is_said(monkeypatch, address, here):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    monkeypatch.setattr(os, "environ", environment | {"RAY_ADDRESS": address})
    import_ray()
    assert os.environ.get("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER") == ("0" if here else None)


def test_without_ray_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install '\.\[ray\]'"):
        import_ray()
