"""Batches of trees for tests, in the form in which `tfnmt.data` makes them."""

import numpy as np
import tensorflow as tf

from tfnmt.text.brackets import PAD, REDUCE, SHIFT

VOCABULARY = 11


def random_tree(random, words):
    """Transitions of a random tree of so many words."""
    transitions, remaining, on_stack = [], words, 0
    while remaining or on_stack > 1:
        shift = remaining and (on_stack < 2 or random.random() < 0.5)
        transitions.append(SHIFT if shift else REDUCE)
        remaining -= bool(shift)
        on_stack += 1 if shift else -1
    return transitions


def left_branching(words):
    return [SHIFT] + [SHIFT, REDUCE] * (words - 1)


def right_branching(words):
    return [SHIFT] * words + [REDUCE] * (words - 1)


def padded(trees, padding=0):
    """Lists of transitions → int32 [trees, steps], with so many steps' padding more than it needs."""
    steps = max(map(len, trees)) + padding
    return tf.constant([[*tree, *[PAD] * (steps - len(tree))] for tree in trees], tf.int32)


def batch_of(trees, padding=0, seed=1):
    """Trees as lists of transitions → a batch, with random words and so many words' padding more than it needs."""
    random = np.random.default_rng(seed)
    counts = [(len(tree) + 1) // 2 for tree in trees]
    words = np.zeros([len(trees), max(counts) + padding], np.int32)
    for row, count in zip(words, counts, strict=True):
        row[:count] = random.integers(1, VOCABULARY, count)
    return {"words": tf.constant(words), "transitions": padded(trees, 2 * padding)}


def shapes_of_trees():
    """Batches of every odd shape, by name."""
    random = np.random.default_rng(2)
    return {
        "one word": batch_of([[SHIFT]]),
        "one example": batch_of([random_tree(random, 5)]),
        "left branching": batch_of([left_branching(4), left_branching(6)]),
        "right branching": batch_of([right_branching(6), right_branching(3)]),
        "words only": batch_of([[SHIFT], [SHIFT]], padding=2),
        "mixed": batch_of([random_tree(random, n) for n in (1, 7, 2, 5, 4)], padding=1),
    }


def with_random_weights(layer, seed=3):
    """The layer, built, with weights of deviation 1."""
    layer.build()
    random = np.random.default_rng(seed)
    for variable in layer.trainable_variables:
        variable.assign(random.normal(size=variable.shape))
    return layer


class Vectors(tf.Module):
    """Word vectors as a table, so that a test may take their gradient."""

    def __init__(self, size, dtype="float64"):
        super().__init__()
        self.output_size = size
        values = np.random.default_rng(3).normal(size=[VOCABULARY, size])
        self.table = tf.Variable(values, dtype=dtype)

    def build(self, _=None):
        pass

    def __call__(self, ids, training=False):
        return tf.gather(self.table, ids)
