"""Threads of an operation, by the parts that are trained side by side."""

import os
import subprocess
import sys

import pytest

TOLD = """
import os, sys
import tensorflow as tf
os.sched_getaffinity = lambda process: set(range(int(sys.argv[1])))
from tfnmt.threads import share_processors
share_processors(int(sys.argv[2]))
tf.constant(1.0) + 1.0
share_processors(1 + int(sys.argv[2]))  # too late, and no mistake
print(tf.config.threading.get_intra_op_parallelism_threads())
"""


@pytest.mark.parametrize(("processors", "parts", "threads"), [(2, 1, 0), (2, 2, 1), (8, 2, 4), (1, 2, 1)])
def test_the_parts_share_out_the_processors(processors, parts, threads):
    told = subprocess.run(
        [sys.executable, "-c", TOLD, str(processors), str(parts)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert int(told.stdout) == threads
