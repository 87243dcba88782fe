"""How long outputs and gradients take in PyTorch, define-by-run: the third column of the comparison of graphs."""

import tempfile
from pathlib import Path

import numpy as np

from tfnmt_programs.benchmarks.peer_process import PEERS, PeerProcess
from tfnmt_programs.benchmarks.spinn_peer import spinn_worker


def steps_of_spinn(python, settings, batches, repetitions):
    """SPINN alone, over trained word vectors, without a head.

    Args:
        python: path of a Python that has torch.
        settings: "units", "tracker_units", "parse", "vocabulary_size" and "threads".
        batches: a list of dictionaries of NumPy arrays, sentences of one side.
        repetitions: times that each batch is gone over; once more beforehand, which counts for nothing.

    Returns:
        The median seconds of each batch.
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
        return _median_steps(worker, repetitions)


def steps_of_translator(python, settings, batches, repetitions):
    """The recurrent encoder alone, or with the attention decoder.

    Args:
        python, repetitions: as above.
        settings: "units", "vocabulary_size", "decodes" (whether the decoder is there) and "threads".
        batches: a list of dictionaries "source" and "target" of NumPy arrays.
    """
    arrays = {f"{name}_{i}": batch[name] for i, batch in enumerate(batches) for name in ("source", "target")}
    with tempfile.TemporaryDirectory() as directory:
        batches_file = Path(directory, "batches.npz")
        np.savez(batches_file, **arrays)
        worker = PEERS / "translator_worker.py"
        with PeerProcess(python, worker, directory, {"seed": 1} | settings, batches_file) as worker:
            return _median_steps(worker, repetitions)


def _median_steps(worker, repetitions):
    worker.answer(), worker.ask()
    seconds = [worker.ask()["each"] for _ in range(repetitions)]
    return np.median(seconds, axis=0).tolist()
