"""How many threads operations are computed in, and each is split over: more do not always help."""

import contextlib

import tensorflow as tf

from tfnmt.processors import processors


def share_processors(batches: int) -> None:
    """Divide the processors among (micro-)batches that are computed in parallel, if TensorFlow has not computed yet.

    The batches keep the processors busy; several threads for one small operation mostly wait for one another.
    docs/results/spinn-speed.md has the measurements.
    """
    if batches > 1:
        with contextlib.suppress(RuntimeError):  # TensorFlow starts its threads once and then keeps their number
            tf.config.threading.set_intra_op_parallelism_threads(max(1, processors() // batches))


def keep_thread_free(batches: int) -> None:
    """Have more threads for operations than so many batches occupy, if TensorFlow has not computed yet.

    The loop of a search stays in one thread from its beginning to its end. What is short, as the check of a request,
    would wait for that end.
    """
    with contextlib.suppress(RuntimeError):
        tf.config.threading.set_inter_op_parallelism_threads(max(processors(), batches) + 1)


def use_threads(threads: int) -> None:
    """Run so many operations at once, each on one thread, if TensorFlow has not computed yet."""
    with contextlib.suppress(RuntimeError):
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
