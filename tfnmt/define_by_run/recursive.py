"""A sentence as a tree, read by plain recursion: the picture of REDUCE with which Bradbury's post begins.

    x = reduce("the", "ceiling")
    y = reduce("in", x)

The layers and weights are those of `tfnmt.layers.trees.encoder.TreeLSTMEncoder`; only who walks the tree is different.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from tfnmt.layers.trees.encoder import TreeLSTMEncoder
from tfnmt.text.brackets import REDUCE, SHIFT


def encode(encoder: TreeLSTMEncoder, batch: dict[str, tf.Tensor], training: bool = False) -> dict[str, tf.Tensor]:
    """What `TreeLSTMEncoder` computes, dropout of the composition aside, one node of one sentence at a time.

    Args:
        encoder: a built `TreeLSTMEncoder`.
        batch: its batch, of which "words" and "transitions" are read; every sentence has a word.
        training: as there.

    Returns:
        {"root": float [sentences, units]}.
    """

    def reduce(left, right):
        h, c = (tf.stack([x, y], axis=1) for x, y in zip(left, right, strict=True))
        return encoder.compose((h, c))

    def phrase(tree):
        """(h, c), each [1, units], of a word, which is its own (h, c), or of a list of two phrases."""
        return reduce(*map(phrase, tree)) if isinstance(tree, list) else tree

    h, c = encoder.leaves(batch["words"], training)
    words = ((h[i : i + 1], c[i : i + 1]) for i in range(len(h)))
    roots = [phrase(tree_of(words, transitions))[0] for transitions in batch["transitions"].numpy()]
    return {"root": tf.concat(roots, axis=0)}


def tree_of(words: Iterator, transitions: Iterable[int]) -> Any:
    """An iterator over words, and transitions → the tree as lists of two: [[the, church], [[has, ...], .]]."""
    stack = []
    for transition in transitions:
        if transition == SHIFT:
            stack.append(next(words))
        elif transition == REDUCE:
            right, left = stack.pop(), stack.pop()
            stack.append([left, right])
    return stack.pop()
