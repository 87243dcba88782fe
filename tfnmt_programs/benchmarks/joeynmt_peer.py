"""JoeyNMT 2.3 (Kreutzer et al. 2019, arXiv:1907.12484) at work beside us: what it is told, and what it works on."""

from pathlib import Path

import numpy as np

from tfnmt.configuration import require
from tfnmt_programs.benchmarks.peer_process import PEERS, PeerProcess


def start_training(directory, model, batches, learning_rate, seed, options):
    """A `PeerProcess` that trains a model of the same sizes on the batches.

    Args:
        directory: where files for it are kept.
        model: our `Translator`.
        batches: a list of ({"source", "target"}, labels), see `tfnmt.data.pair_batches`, as NumPy arrays.
        learning_rate, seed: of its training.
        options: an object with `peer_python`, `threads` and `mixed_precision`, which "both" makes the peer's, too.
    """
    arrays = {}
    for i, (inputs, labels) in enumerate(batches):
        arrays |= {f"source_{i}": inputs["source"], f"target_{i}": inputs["target"], f"labels_{i}": labels}
    settings = {"learning_rate": learning_rate, "seed": seed, "bfloat16": options.mixed_precision == "both"}
    return _start(directory, model, arrays, settings, options)


def start_translating(directory, model, batches, options):
    """A `PeerProcess` that translates with random weights of the same sizes.

    Args:
        directory, model: as above.
        batches: a list of (source ids, int [batch, source_length], padded with 0; how many words, END counted, the
            search of that batch is to take).
        options: an object with `peer_python`, `threads` and `beam_size`.
    """
    arrays = {}
    for i, (source, steps) in enumerate(batches):
        arrays |= {f"source_{i}": source, f"steps_{i}": steps}
    settings = {"learning_rate": 0.001, "seed": 1, "bfloat16": False, "beam_size": options.beam_size}
    return _start(directory, model, arrays, settings, options)


def _start(directory, model, arrays, settings, options):
    batches_file = Path(directory, "batches.npz")
    np.savez(batches_file, **arrays)
    settings = _sizes(model) | settings | {"threads": options.threads}
    return PeerProcess(options.peer_python, PEERS / "joeynmt_worker.py", directory, settings, batches_file)


def _sizes(model):
    """The sizes of JoeyNMT's model: a bidirectional GRU, and a GRU with additive attention."""
    c = model.configuration
    needed = {"cell": "gru", "attention": "additive", "bidirectional": True, "encoder_layers": 1, "decoder_layers": 1}
    for key, value in needed.items():
        require(getattr(c, key) == value, key, getattr(c, key), f"{value}, beside JoeyNMT")
    return {
        "source_vocabulary_size": model.source_tokenizer.vocabulary_size,
        "target_vocabulary_size": model.target_tokenizer.vocabulary_size,
        "embedding_size": c.source_embedding_size,
        "encoder_units": c.encoder_units,
        "decoder_units": c.decoder_units,
    }
