"""How many processors there are: those that the process may run on, or a container's limit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tfnmt import processors as module
from tfnmt.processors import processors

PROGRAM = """
import os
os.sched_getaffinity = lambda process: set(range(64))
from pathlib import Path
from tfnmt import processors
processors._CGROUP = Path({folder!r})
from tfnmt.tensorflow_start import import_tensorflow
import_tensorflow()
import tensorflow as tf
tf.constant(1.0) + 1.0
print(os.environ.get("TF_NUM_INTRAOP_THREADS"), len(os.listdir("/proc/self/task")))
"""


@pytest.mark.parametrize(
    "files, expected",
    [
        ({}, 8),
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu.max": "400000 100000\n"}, 4),
        ({"cpu.max": "250000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "1600000 100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
    ],
)
def test_a_container_may_use_fewer_than_the_machine_has(files, expected, tmp_path, monkeypatch):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "_CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    assert processors() == expected


@pytest.mark.slow
def test_tensorflow_starts_no_more_threads_than_a_container_may_use(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])

    def threads(limit):
        (tmp_path / "cpu.max").write_text(limit)
        command = [sys.executable, "-c", PROGRAM.format(folder=str(tmp_path))]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return ran.stdout.split()

    (three, few), (twenty, many) = threads("300000 100000\n"), threads("2000000 100000\n")
    assert (three, twenty) == ("3", "20") and int(many) - int(few) >= 17
    assert threads("max 100000\n")[0] == "None"
