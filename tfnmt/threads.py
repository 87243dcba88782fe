"""How many threads an operation is split over: more do not always help."""

import contextlib
import os

import tensorflow as tf


def share_processors(parts):
    """Give each operation as many threads as suit training in so many parts side by side, if nothing has computed yet.

    The parts keep the processors busy, and threads that share a small operation spend much of their time waiting for
    one another: docs/results.md says how much.
    """
    if parts > 1:
        with contextlib.suppress(RuntimeError):  # threads are started once: what has computed before keeps its own
            tf.config.threading.set_intra_op_parallelism_threads(max(1, processors() // parts))


def processors():
    """How many this process may run on."""
    return len(os.sched_getaffinity(0))
