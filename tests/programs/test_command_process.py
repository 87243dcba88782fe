"""Commands in processes of their own, and the signals that they get."""

import logging
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import group_ended
from tfnmt.errors import UserError
from tfnmt_programs.command_process import run_command

RUNS = """
import sys
from tfnmt_programs.command_process import run_command
sys.executable = sys.argv[1]
run_command([])
"""
COMMAND = f"""#!{sys.executable}
import signal, sys
signals = {{signal.SIGINT, signal.SIGTERM}}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", file=sys.stderr, flush=True)
print(signal.Signals(signal.sigwait(signals)).name, file=sys.stderr, flush=True)
"""


@pytest.mark.usefixtures("heeded_signals")
def test_ctrl_c_reaches_a_command_once(tmp_path):
    """From the process that runs it, and not from the terminal, too, which interrupts a whole group of processes."""
    command = tmp_path / "command"
    command.write_text(COMMAND)
    command.chmod(0o700)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    runs = subprocess.Popen(
        [sys.executable, "-c", RUNS, command],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    with group_ended(runs):
        while runs.stderr.readline() not in ("ready\n", ""):
            pass
        os.killpg(runs.pid, signal.SIGINT)
        _, said = runs.communicate(timeout=60)
    assert "SIGTERM" in said.splitlines() and "SIGINT" not in said.splitlines()


def test_a_command_is_told_so_that_it_can_be_copied(caplog, monkeypatch):
    caplog.set_level(logging.INFO, logger="tfnmt_programs")
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(UserError, match="^tfnmt translate --model 'my model': status 1$"):
        run_command(["translate", "--model", "my model"])
    assert "tfnmt translate --model 'my model'" in caplog.messages
