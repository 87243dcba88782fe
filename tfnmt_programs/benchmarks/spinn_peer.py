"""SPINN in PyTorch, the post's way or by level, as a process that works when asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfnmt_programs.benchmarks.peer_process import PeerProcess


def spinn_process(
    python: str | Path,
    settings: Mapping[str, Any],
    batches: Sequence[tuple[dict, np.ndarray]],
    worker: str = "spinn_worker.py",
) -> PeerProcess:
    """A process that trains on the batches, see `peers/spinn_worker.py`.

    Args:
        python: path of a Python that has torch.
        settings: those that the worker reads.
        batches: a list of (sentences, labels), NumPy arrays as `tfnmt.data.example_batches` makes them.
        worker: or "spinn_by_level_worker.py", for given transitions and no tracker.
    """
    trained = [
        {"words": sentences["words"], "transitions": sentences["transitions"], "labels": labels}
        for sentences, labels in batches
    ]
    return PeerProcess(python, worker, settings, trained)
