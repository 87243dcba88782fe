"""Threads of operations: shared among micro-batches, and one left for what is short."""

import json
import os
import subprocess
import sys

import pytest

# TensorFlow is imported once; it starts, with the threads that it is told, in a process for each case.
PROGRAM = """
import json, os, signal, sys, threading
import tensorflow as tf
import tfnmt.processors
tfnmt.processors._limit = lambda: None  # where this runs in a container that has one
from tfnmt.threads import keep_thread_free, share_processors

def in_processes(case, *arguments):
    for each in zip(*arguments):
        if os.fork():
            assert os.wait()[1] == 0
        else:
            print(case(*each), flush=True)
            os._exit(0)

def intra_op_threads(processors, micro_batches):
    os.sched_getaffinity = lambda process: set(range(processors))
    share_processors(micro_batches)
    tf.constant(1.0) + 1.0
    share_processors(1 + micro_batches)  # too late, and no mistake
    return tf.config.threading.get_intra_op_parallelism_threads()

def short_work(processors, batches):
    os.sched_getaffinity = lambda process: set(range(processors))
    keep_thread_free(batches)
    signal.alarm(20)  # ends this process if it waits
    begun, end = threading.Semaphore(0), threading.Event()
    batch = tf.function(lambda: tf.numpy_function(lambda: begun.release() or end.wait(), [], tf.bool))
    batch.get_concrete_function()
    for _ in range(batches):
        threading.Thread(target=batch, daemon=True).start()
    for _ in range(batches):
        begun.acquire()
    return int(tf.function(lambda: tf.strings.length("short") + 1)())

in_processes(intra_op_threads, *json.loads(sys.argv[1]))
in_processes(short_work, *json.loads(sys.argv[2]))
"""
INTRA_OP_THREADS = {(2, 1): 0, (2, 2): 1, (8, 2): 4, (1, 2): 1}
SHORT_WORK = [(2, 2), (1, 3)]


@pytest.fixture(scope="module")
def printed():
    cases = [json.dumps(list(zip(*cases, strict=True))) for cases in (INTRA_OP_THREADS, SHORT_WORK)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", PROGRAM, *cases], capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    return list(map(int, ran.stdout.split()))


@pytest.mark.slow
def test_the_micro_batches_share_the_processors(printed):
    assert printed[: len(INTRA_OP_THREADS)] == list(INTRA_OP_THREADS.values())


def test_short_work_does_not_wait_for_batches(printed):
    assert printed[len(INTRA_OP_THREADS) :] == [6] * len(SHORT_WORK)
