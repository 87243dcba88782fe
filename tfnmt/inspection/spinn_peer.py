"""The post's SPINN in PyTorch, as a process that works when asked."""

import contextlib
import tempfile
from pathlib import Path

import numpy as np

from tfnmt.inspection.peer_process import PEERS, PeerProcess


@contextlib.contextmanager
def spinn_worker(python, settings, batches):
    """A `PeerProcess` that trains on the batches, see `peers/spinn_worker.py`.

    Args:
        python: path of a Python that has torch.
        settings: those that the worker reads.
        batches: a list of (sentences, labels), NumPy arrays as `tfnmt.data.example_batches` makes them.
    """
    arrays = {}
    for i, (sentences, labels) in enumerate(batches):
        arrays |= {f"{name}_{i}": sentences[name] for name in ("words", "transitions")} | {f"labels_{i}": labels}
    with tempfile.TemporaryDirectory() as directory:
        batches_file = Path(directory, "batches.npz")
        np.savez(batches_file, **arrays)
        with PeerProcess(python, PEERS / "spinn_worker.py", directory, settings, batches_file) as worker:
            yield worker


def steps_of_encoder(python, settings, batches, repetitions):
    """The seconds that outputs and gradients of the encoder alone take, the median of each batch.

    Args:
        settings: "units", "tracker_units", "parse", "vocabulary_size" and "threads".
        batches: a list of dictionaries of NumPy arrays, sentences of one side.
    """
    settings = {
        "encoder_alone": True,
        "embedding_size": 2 * settings["units"],
        "head_units": 1,
        "head_layers": 0,
        "classes": 2,
        "embedding_dropout": 0.0,
        "head_dropout": 0.0,
        "learning_rate": 0.001,
        "seed": 1,
    } | settings
    with spinn_worker(python, settings, [(batch, np.zeros([1])) for batch in batches]) as worker:
        worker.answer(), worker.ask()  # the first time counts for nothing
        seconds = [worker.ask()["each"] for _ in range(repetitions)]
    return np.median(seconds, axis=0).tolist()
