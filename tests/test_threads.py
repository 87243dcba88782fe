"""Threads of an operation, by the micro-batches that are trained in parallel."""

import json
import os
import subprocess
import sys

# TensorFlow is imported once; it starts, with the threads that it is told, in a process for each case.
TOLD = """
import json, os, sys
import tensorflow as tf
from tfnmt.threads import share_processors
for processors, micro_batches in json.loads(sys.argv[1]):
    if os.fork():
        assert os.wait()[1] == 0
        continue
    os.sched_getaffinity = lambda process: set(range(processors))
    share_processors(micro_batches)
    tf.constant(1.0) + 1.0
    share_processors(1 + micro_batches)  # too late, and no mistake
    print(tf.config.threading.get_intra_op_parallelism_threads(), flush=True)
    os._exit(0)
"""


def test_the_micro_batches_share_the_processors():
    expected = {(2, 1): 0, (2, 2): 1, (8, 2): 4, (1, 2): 1}
    told = subprocess.run(
        [sys.executable, "-c", TOLD, json.dumps(list(expected))],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert dict(zip(expected, map(int, told.stdout.split()), strict=True)) == expected
