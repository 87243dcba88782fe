"""Workers as one process; here, they end at once, each in its way."""

import os
import random
import sys
from subprocess import PIPE

import pytest

from tfnmt.errors import UserError
from tfnmt_programs.soak.disturbances import DISTURBANCES, disturb
from tfnmt_programs.soak.workers import WorkerGroup


def status(program, workers):
    """That of workers, of which the first is the one that is disturbed."""
    generator = random.Random()
    generator.randrange = lambda _: 0
    with WorkerGroup([sys.executable, "-c", program], dict(os.environ), workers, generator) as group:
        return group.wait(60)


INDEX = "import json, os, sys; index = json.loads(os.environ['TF_CONFIG'])['task']['index']; "


@pytest.mark.parametrize(
    "program, workers, expected",
    [
        ("pass", 1, 0),
        ("pass", 2, 0),
        ("raise SystemExit(3)", 1, 3),
        (INDEX + "sys.exit([3, 0][index])", 2, 3),
        (INDEX + "sys.exit([0, 2][index])", 2, 2),
    ],
)
def test_the_status_of_all(program, workers, expected):
    assert status(program, workers) == expected


STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
)


@pytest.mark.parametrize("kind", DISTURBANCES)
def test_a_worker_that_does_not_end_is_told_and_ended(kind):
    with WorkerGroup([sys.executable, "-c", STUBBORN], dict(os.environ), 2, random.Random(1), stdout=PIPE) as group:
        for process in group.processes:
            assert process.stdout.readline() == b"ready\n"
        with pytest.raises(UserError, match=f"^{kind}: the process had not ended after"):
            disturb(group, kind, random.Random(1), ends_within=0.1)
        assert all(process.poll() is not None for process in group.processes)


def test_a_full_disk_is_the_chief_s():
    """The others end because it has gone."""
    wait = "while resource.getrlimit(resource.RLIMIT_FSIZE)[0] < 0 and time.monotonic() < end: time.sleep(0.01)\n"
    program = f"{INDEX}import resource, time\nend = time.monotonic() + [60, 1][index]\n{wait}sys.exit([2, 143][index])"
    generator = random.Random()
    generator.randrange = lambda _: 1
    with WorkerGroup([sys.executable, "-c", program], dict(os.environ), 2, generator) as group:
        assert disturb(group, "full_disk", random.Random(1))


def test_a_status_that_no_other_worker_may_have():
    with pytest.raises(UserError, match=r"the workers ended with status 0, and \[3\]$"):
        status(INDEX + "sys.exit([0, 3][index])", 2)
