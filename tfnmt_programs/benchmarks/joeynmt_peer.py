"""JoeyNMT 2.3 (Kreutzer et al. 2019, arXiv:1907.12484), to be measured beside this project: its settings and data."""

import math
import re
from argparse import Namespace
from collections.abc import Mapping, Sequence

import numpy as np

from tfnmt.configuration import require
from tfnmt.translation.translator import Translator
from tfnmt_programs.benchmarks.peer_process import Batches, PeerProcess, require_form
from tfnmt_programs.benchmarks.work import Multiplications


def start_training(
    model: Translator, batches: Sequence[tuple[dict, np.ndarray]], learning_rate: float, seed: int, options: Namespace
) -> PeerProcess:
    """A process that trains a model of the same sizes on the batches.

    Args:
        batches: a list of ({"source", "target"}, labels), see `tfnmt.data.pair_batches`, as NumPy arrays.
        options: has `peer_python`, `threads` and `mixed_precision`, which "both" makes the peer's, too.
    """
    trained = [{"source": inputs["source"], "target": inputs["target"], "labels": labels} for inputs, labels in batches]
    settings = {"learning_rate": learning_rate, "seed": seed, "bfloat16": options.mixed_precision == "both"}
    return _start(model, trained, settings, options)


def start_translating(model: Translator, batches: Batches, options: Namespace) -> PeerProcess:
    """A process that translates with random weights of the same sizes.

    Args:
        batches: each has "source", ids, int [batch, source_length], padded with 0, and "steps", how many words, END
            counted, its search is to take.
        options: has `peer_python`, `threads`, `beam_size` and `peer_precision`, which is to be "float32".
    """
    require(options.peer_precision == "float32", "peer_precision", options.peer_precision, "float32 of JoeyNMT")
    settings = {"learning_rate": 0.001, "seed": 1, "bfloat16": False, "beam_size": options.beam_size}
    return _start(model, batches, settings, options)


def joeynmt_multiplications(shapes: Mapping[str, Sequence[int]], encoder_size: int) -> Multiplications:
    """How many multiplications its forward pass needs.

    Args:
        shapes: those of its weights, by JoeyNMT's names.
        encoder_size: size of the encoder's states h_j, of which the context c_i = Σ_j α_ij h_j is made.
    """
    counts = {"source_word": 0, "sentence": 0, "target_word": 0, "word_pair": encoder_size}
    kinds = {  # the first that fits counts; embeddings are looked up
        "embed": None,
        "^encoder|key_layer": "source_word",
        "bridge_layer": "sentence",
        "energy_layer": "word_pair",
        "": "target_word",
    }
    for name, shape in shapes.items():
        kind = next(kind for pattern, kind in kinds.items() if re.search(pattern, name))
        if kind and len(shape) == 2:
            counts[kind] += math.prod(shape)
    return Multiplications(**counts)


def _start(model, batches, settings, options):
    settings = _sizes(model) | settings | {"threads": options.threads}
    return PeerProcess(options.peer_python, "joeynmt_worker.py", settings, batches)


def _sizes(model):
    """The sizes of JoeyNMT's model: a bidirectional GRU, and a GRU with additive attention."""
    c = model.configuration
    require_form(c, "JoeyNMT")
    return {
        "source_vocabulary_size": model.source_tokenizer.vocabulary_size,
        "target_vocabulary_size": model.target_tokenizer.vocabulary_size,
        "embedding_size": c.source_embedding_size,
        "encoder_units": c.encoder_units,
        "decoder_units": c.decoder_units,
    }
