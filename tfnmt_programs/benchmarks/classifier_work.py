"""How many multiplications a training step of a SPINN classifier needs, from the shapes of its weights and the lengths
of its sentences; what counts as needed is told in `tfnmt_programs.benchmarks.work`."""

import re

import numpy as np

from tfnmt.text.brackets import REDUCE

# What a weight matrix meets once, by its name in a `Classifier`, and how many products of its size a training step
# has: word vectors are fixed, so the gradient of what the projection reads is not wanted. The first that fits counts.
MEETS = (
    (r"/E/", "nothing", 0),
    (r"projection/", "words", 2),
    (r"compose/", "parents", 3),
    (r"tracker/", "steps", 3),
    (r"head/", "pairs", 3),
)


def training_products_per_pair(weights, batches):
    """Multiplications and additions of the products of a training step, over the number of pairs.

    Args:
        weights: the shapes of all weights of a `Classifier` by name; what is no matrix does not count.
        batches: a list of (sentences, labels) as `tfnmt.data.example_batches` makes them, as NumPy arrays.

    Returns:
        Floating-point operations (FLOP), a float.
    """
    pairs = sum(len(labels) for _, labels in batches)
    times = {
        "nothing": 0,
        "words": sum(np.count_nonzero(sentences["words"]) for sentences, _ in batches),
        "parents": sum(np.count_nonzero(sentences["transitions"] == REDUCE) for sentences, _ in batches),
        "steps": sum(np.count_nonzero(sentences["transitions"]) for sentences, _ in batches),
        "pairs": pairs,
    }
    multiplications = 0
    for name, shape in weights.items():
        if len(shape) == 2:
            what, products = next((what, products) for pattern, what, products in MEETS if re.search(pattern, name))
            multiplications += times[what] * products * shape[0] * shape[1]
    return float(2 * multiplications / pairs)
