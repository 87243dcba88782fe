"""Encoders that read a sentence as a tree: SPINN, the stack-augmented parser-interpreter neural network.

Bowman et al. 2016, arXiv:1603.06021. The words of all sentences become leaves; `tfnmt.layers.stack.grow` makes the
other nodes; the root is the sentence's vector.
"""

import keras
import tensorflow as tf

from tfnmt.layers.pointers import plan_by_height
from tfnmt.layers.stack import grow
from tfnmt.layers.tree_lstm import TreeLSTM
from tfnmt.text.parses import NOTHING


class TreeEncoder(keras.layers.Layer):
    """What all encoders that read trees share: the leaves before the loop, and what is handed back after it.

    Args:
        embedding: a layer from words to vectors, `embedding(ids, training=...)`: int32 [sentences, words] → float
            [sentences, words, embedding.output_size]. Vectors of size 2 · units are the leaves, h and c side by side;
            others are projected to that size first.
        units: size of h and of c.
    """

    def __init__(self, embedding, units, **options):
        super().__init__(**options)
        self.embedding = embedding
        self.units = units
        self.output_size = units
        self.projection = None
        if embedding.output_size != 2 * units:
            self.projection = keras.layers.Dense(2 * units, name="projection")

    def build(self, _=None):
        self.embedding.build(None)
        if self.projection is not None:
            self.projection.build((None, self.embedding.output_size))

    def leaves(self, words, training=False):
        """int32 [sentences, words] → (h, c), each float [sentences · words, units]."""
        vectors = self.embedding(words, training=training)
        vectors = tf.reshape(vectors, [-1, self.embedding.output_size])
        if self.projection is not None:
            vectors = self.projection(vectors)
        return tuple(tf.split(vectors, 2, axis=1))

    def read(self, h, rows, transitions):
        """The encoder's result of the table's h [.., units], the row of every node and the transitions."""
        steps = tf.reduce_sum(tf.cast(transitions != NOTHING, tf.int32), axis=1)
        roots = tf.gather(rows, tf.maximum(steps - 1, 0), batch_dims=1)
        return {"root": tf.gather(h, roots), "nodes": tf.gather(h, rows), "transitions": transitions}


class LevelEncoder(TreeEncoder):
    """SPINN-PI-NT: given parses, no tracker. A TreeLSTM over the batch's trees, one level at a time.

    Without a tracker nothing goes from left to right, so every REDUCE of one height, over all sentences, is one
    product: as many iterations as the highest tree has levels, and no row is composed in vain.
    """

    def __init__(self, embedding, units, **options):
        super().__init__(embedding, units, **options)
        self.compose = TreeLSTM(units, name="compose")

    def build(self, _=None):
        super().build()
        self.compose.build()

    def call(self, batch, training=False):
        """Read sentences along their trees.

        Args:
            batch: a dictionary: "words" int32 [sentences, words], "transitions", "left", "right", "height" int32
                [sentences, steps], padded with 0 (see `tfnmt.text.parses`).
            training: whether the word vectors are trained (dropout, batch normalisation).

        Returns:
            A dictionary: "root" float [sentences, units], h of every sentence's root; "nodes" float [sentences, steps,
            units], h of every node, zeros in padding; "transitions", those given.
        """
        plan = plan_by_height(*(batch[name] for name in ("transitions", "left", "right", "height")), _width(batch))

        def step(seen, states, held):
            return self.compose.step(seen["h"], seen["c"], held), states

        (h, _), _ = grow(
            step,
            self.leaves(batch["words"], training),
            plan["children"],
            plan["ends"],
            weights=self.compose.loop_weights(),
            constants=self.compose.loop_constants(),
        )
        return self.read(h, plan["rows"], batch["transitions"])


def _width(batch):
    return tf.shape(batch["words"])[1]
