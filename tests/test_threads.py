"""Threads of an operation, by the micro-batches that are trained in parallel."""

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


@pytest.mark.parametrize(("processors", "micro_batches", "threads"), [(2, 1, 0), (2, 2, 1), (8, 2, 4), (1, 2, 1)])
def test_the_micro_batches_share_the_processors(processors, micro_batches, threads):
    told = subprocess.run(
        [sys.executable, "-c", TOLD, str(processors), str(micro_batches)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert int(told.stdout) == threads
