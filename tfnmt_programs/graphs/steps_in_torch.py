"""How long outputs and gradients take in PyTorch, define-by-run: the third column of the comparison of graphs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfnmt_programs.benchmarks.peer_process import Batches, PeerProcess
from tfnmt_programs.benchmarks.spinn_peer import spinn_process


def steps_of_spinn(python: str | Path, settings: Mapping[str, Any], batches: Batches, repetitions: int) -> list[float]:
    """SPINN alone, over trained word vectors, without a head.

    Args:
        python: path of a Python that has torch.
        settings: "units", "tracker_units", "parse", "vocabulary_size" and "threads".
        batches: sentences of one side.
        repetitions: passes over all batches that are timed; one more comes before them.

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
    return _median_steps(spinn_process(python, settings, [(batch, np.zeros([1])) for batch in batches]), repetitions)


def steps_of_translator(
    python: str | Path, settings: Mapping[str, Any], batches: Batches, repetitions: int
) -> list[float]:
    """The recurrent encoder alone, or with the attention decoder; see `steps_of_spinn`.

    Args:
        settings: "units", "vocabulary_size", "decodes" (whether the decoder is there) and "threads".
        batches: each with "source" and "target".
    """
    batches = [{name: batch[name] for name in ("source", "target")} for batch in batches]
    return _median_steps(PeerProcess(python, "translator_worker.py", {"seed": 1} | settings, batches), repetitions)


def _median_steps(process, repetitions):
    with process:
        process.answer(), process.ask()
        seconds = [process.ask()["each"] for _ in range(repetitions)]
        return np.median(seconds, axis=0).tolist()
