"""Workers as one process; here, they end at once, each in its way."""

import os
import random
import sys

import pytest

from tfnmt.errors import UserError
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


def test_a_status_that_no_other_worker_may_have():
    with pytest.raises(UserError, match=r"the workers ended with status 0, and \[3\]$"):
        status(INDEX + "sys.exit([0, 3][index])", 2)
