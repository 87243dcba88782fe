"""The post's SPINN in PyTorch, as a process that works when asked."""

import contextlib
import tempfile
from pathlib import Path

import numpy as np

from tfnmt_programs.benchmarks.peer_process import PEERS, PeerProcess


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
