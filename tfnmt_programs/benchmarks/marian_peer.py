"""Marian 1.12 (Junczys-Dowmunt et al. 2018, arXiv:1804.00344), to be measured beside this project: its settings and
data.

Its recurrent model ("s2s") is of our conditional form. All of its states have one size, that of our decoder, and its
attention's hidden layer that of both encoder states together: with the preset `multi30k` 512 where ours has 256.
"""

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
    """A process that trains a model of the same kind; arguments as in `joeynmt_peer.start_training`."""
    require(options.mixed_precision != "both", "mixed_precision", "both", "ours, beside Marian")
    trained = [{"source": inputs["source"], "labels": labels} for inputs, labels in batches]
    settings = {"learning_rate": learning_rate, "seed": seed, "batch_size": len(batches[0][1])}
    return _start(model, trained, settings, options)


def start_translating(model: Translator, batches: Batches, options: Namespace) -> PeerProcess:
    """A process that translates with random weights; arguments as in `joeynmt_peer.start_translating`.

    Args:
        options: has `batch_size` and `peer_precision` ("float32" or "int8"), too.
    """
    settings = {name: getattr(options, name) for name in ("beam_size", "batch_size")}
    return _start(model, batches, settings | {"learning_rate": 0.001, "seed": 1}, options)


def marian_multiplications(shapes: Mapping[str, Sequence[int]], encoder_size: int) -> Multiplications:
    """How many multiplications its forward pass needs.

    Args:
        shapes: those of its weights, by Marian's names.
        encoder_size: size of both encoder states together, of which the context is made.
    """
    counts = {"source_word": 0, "sentence": 0, "target_word": 0, "word_pair": encoder_size}
    kinds = {  # the first that fits counts
        "Wemb$": None,
        "^encoder|Wc_att": "source_word",
        "ff_state": "sentence",
        "U_att": "word_pair",
        "": "target_word",
    }
    for name, shape in shapes.items():
        kind = next(kind for pattern, kind in kinds.items() if re.search(pattern, name))
        if kind and min(shape) > 1 or kind == "word_pair":
            counts[kind] += math.prod(shape)
    if not any(name.endswith("logit_l2_W") for name in shapes):  # the table of target words has its place
        counts["target_word"] += math.prod(shapes["decoder_Wemb"])
    return Multiplications(**counts)


def _start(model, batches, settings, options):
    c = model.configuration
    require_form(c, "Marian", conditional=True)
    sizes = {
        "source_vocabulary_size": model.source_tokenizer.vocabulary_size,
        "target_vocabulary_size": model.target_tokenizer.vocabulary_size,
        "embedding_size": c.source_embedding_size,
        "units": c.decoder_units,
        "tied": c.tied_embeddings,
    }
    precision = getattr(options, "peer_precision", "float32")  # of searching
    settings = sizes | settings | {"threads": options.threads, "precision": precision}
    return PeerProcess(options.peer_python, "marian_worker.py", settings, batches)
