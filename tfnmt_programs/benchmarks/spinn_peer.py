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
    arrays = {}
    for i, (sentences, labels) in enumerate(batches):
        arrays |= {f"{name}_{i}": sentences[name] for name in ("words", "transitions")} | {f"labels_{i}": labels}
    return PeerProcess(python, worker, settings, arrays)
