"""How many multiplications a training step of a SPINN classifier needs, from its layers and the lengths of its
sentences; what counts as needed is told in `tfnmt_programs.benchmarks.work`.
"""

from collections.abc import Sequence

import numpy as np

from tfnmt.classification.classifier import Classifier
from tfnmt.text.brackets import REDUCE
from tfnmt_programs.benchmarks.tree_batches import Batch
from tfnmt_programs.benchmarks.work import matrix_sizes


def training_flop_per_pair(model: Classifier, batches: Sequence[Batch]) -> float:
    """Multiplications and additions of the products of a training step, over the number of pairs."""
    pairs = sum(len(labels) for _, labels in batches)
    words = sum(np.count_nonzero(sentences["words"]) for sentences, _ in batches)
    transitions = [sentences["transitions"] for sentences, _ in batches]
    parents = sum(np.count_nonzero(t == REDUCE) for t in transitions)
    steps = sum(map(np.count_nonzero, transitions))
    encoder = model.encoder
    # Forward, and the gradients of weights and inputs; but the word vectors, which the projection reads, are fixed.
    multiplications = 2 * words * matrix_sizes(encoder.embedding.projection)
    multiplications += 3 * parents * matrix_sizes(encoder.compose)
    multiplications += 3 * pairs * matrix_sizes(model.head)
    if hasattr(encoder, "tracker"):
        multiplications += 3 * steps * matrix_sizes(encoder.tracker)
    return float(2 * multiplications / pairs)
