"""Training timed as a user has it: through Keras's `fit`, on batches that are in memory."""

import re
import time
from pathlib import Path

import tensorflow as tf


def timed_fit(model, batches):
    """Take a compiled model's first step, and return (the seconds that took, `train`).

    Args:
        model: a compiled Keras model.
        batches: a list of (inputs, labels), NumPy arrays of int32 or structures of such.

    Returns:
        The seconds of the first step, tracing included, and a function that trains on all batches once and returns the
        seconds it took.
    """
    signature = tf.nest.map_structure(lambda array: tf.TensorSpec([None] * array.ndim, tf.int32), batches[0])
    dataset = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature).cache()
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(len(batches))).prefetch(8)
    settings = tf.data.Options()
    settings.autotune.enabled = False  # its thread sometimes sleeps on for seconds when `fit` is done, and `fit` waits
    dataset = dataset.with_options(settings)

    def train(dataset=dataset):
        start = time.perf_counter()
        model.fit(dataset, shuffle=False, verbose=0)
        return time.perf_counter() - start

    return train(dataset.take(1)), train


def resident_memory():
    """Bytes that this process holds now."""
    return _status("VmRSS")


def peak_memory():
    """The most bytes that it has held."""
    return _status("VmHWM")


def forget_peak_memory():
    """From now on, `peak_memory` is of what comes."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(name):
    # Not `getrusage`: a process that was forked from another counts the peak of that one as its own.
    return 1024 * int(re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text()).group(1))
