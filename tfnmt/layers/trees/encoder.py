"""Encoders of sentences that have a tree: what they share, and the one without a tracker."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.devices import on_cpu
from tfnmt.layers.embedding import from_configuration, require_word_vectors
from tfnmt.layers.invariants import LoopInvariants
from tfnmt.layers.registry import CELLS, COMPOSITIONS
from tfnmt.layers.rnn import RNN
from tfnmt.layers.trees.loop import compose_trees
from tfnmt.layers.trees.schedule import schedule_by_depth
from tfnmt.registry import find_entry
from tfnmt.text.brackets import PAD, SHIFT
from tfnmt.text.tokenizer import PADDING
from tfnmt.text.transitions import are_trees


class TreeEncoder(keras.layers.Layer):
    """What encoders of trees share: the leaves before the loop, and the results after it.

    Args:
        embedding: a layer from words to vectors, `embedding(ids, training=...)`: int32 [sentences, words] → float
            [sentences, words, embedding.output_size]. Vectors of the size of h and c together are the leaves, h and c
            side by side; others are projected to that size first.
        units: size of h, and of c if the composition has one.
        composition: what makes a parent of two children, a name in `tfnmt.layers.registry.COMPOSITIONS`.
        composition_dropout: part of the composition's matrices dropped in training, one mask for all nodes of a batch
            (DropConnect: Wan et al. 2013; in recurrences Merity et al. 2018, arXiv:1708.02182).
        leaf_rnn: "gru" or "lstm": read the words in both directions first, so that the leaves are made of [h→_i; h←_i],
            each of `units`, in place of x_i (leaf-RNN: Choi et al. 2018, arXiv:1707.02786; in both directions Shi et
            al. 2018, arXiv:1808.09644). None: do not.
        leaf_dropout: part of [h→_i; h←_i] dropped in training.
    """

    def __init__(
        self,
        embedding: keras.layers.Layer,
        units: int,
        composition: str = "tree-lstm",
        composition_dropout: float = 0.0,
        leaf_rnn: str | None = None,
        leaf_dropout: float = 0.0,
        **options: Any,
    ):
        super().__init__(autocast=False, **options)
        self.supports_jit = False  # the loop writes rows in place, for which XLA has no operation
        self.embedding = require_word_vectors(embedding)
        self.units = self.output_size = units
        self.composition = composition
        self.composition_dropout = keras.layers.Dropout(composition_dropout, dtype=self.dtype_policy.name)
        self.leaf_rnn, self.leaf_dropout = leaf_rnn, keras.layers.Dropout(leaf_dropout, dtype=self.dtype_policy.name)
        self.reader, self.vector_size = None, embedding.output_size
        if leaf_rnn is not None:
            cell = find_entry("leaf_rnn", leaf_rnn, CELLS)(units, dtype=self.dtype_policy.name)
            self.reader = keras.layers.Bidirectional(
                RNN(cell, return_sequences=True, dtype=self.dtype_policy.name),
                name="leaf_rnn",
                dtype=self.dtype_policy.name,
            )
            self.vector_size = 2 * units
        leaf_size = 2 * units if find_entry("composition", composition, COMPOSITIONS).has_memory else units
        self.projection = None
        if self.vector_size != leaf_size:
            self.projection = keras.layers.Dense(leaf_size, name="projection", dtype=self.dtype_policy.name)

    def build(self, input_shape: Any = None) -> None:
        if not getattr(self.embedding, "built", False):  # else it was loaded with the layer
            self.embedding.build(None)
        if self.reader is not None:
            self.reader.build((None, None, self.embedding.output_size))
        if self.projection is not None:
            self.projection.build((None, self.vector_size))

    def leaves(self, words: tf.Tensor, training: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        """int32 [sentences, words], padded with 0 → (h, c), float [real words, units] and [real words, units or, if the
        composition has no c, 0], padding left out."""
        if self.reader is None:
            vectors = self.embedding(_real(words)[tf.newaxis], training=training)
            vectors = tf.reshape(vectors, [-1, self.vector_size])
        else:
            vectors = self._read(words, training)
        if self.projection is not None:
            vectors = self.projection(vectors)
        return vectors[:, : self.units], vectors[:, self.units :]

    def _read(self, words, training):
        """[h→_i; h←_i] of the words that are no padding."""
        vectors = self.embedding(words, training=training)
        vectors = self.reader(vectors, mask=words != PADDING, training=training)
        vectors = tf.gather(tf.reshape(vectors, [-1, self.vector_size]), _real_places(words))
        return self.leaf_dropout(vectors, training=training)

    def composition_weights(self, training: bool) -> dict[str, tf.Tensor]:
        """The matrices of the composition for a loop, in training without what is dropped."""
        weights = self.compose.loop_weights()
        return {name: self.composition_dropout(weight, training=training) for name, weight in weights.items()}

    @staticmethod
    def given_transitions(inputs: dict[str, tf.Tensor]) -> tf.Tensor:
        """The parses among the inputs.

        Raises:
            ValueError: there are none.
            tf.errors.InvalidArgumentError: one is no tree of all its sentence's words.
        """
        if "transitions" not in inputs:
            raise ValueError(f'this encoder needs parses: the inputs are {sorted(inputs)}, without "transitions"')
        return _checked(inputs["words"], inputs["transitions"])

    def results(self, h: tf.Tensor, rows: tf.Tensor, transitions: tf.Tensor) -> dict[str, tf.Tensor]:
        """The encoder's results of the table's h [.., units], the row of every node and the transitions."""
        root = tf.gather(h, _roots(rows, transitions))
        return {"root": root, "nodes": tf.gather(h, rows), "transitions": transitions}

    def get_config(self) -> dict:
        """The arguments of the constructor. The embedding is the layer itself, which several encoders may share: Keras
        saves it once."""
        return {
            **super().get_config(),
            "embedding": self.embedding,
            "units": self.units,
            "composition": self.composition,
            "composition_dropout": self.composition_dropout.rate,
            "leaf_rnn": self.leaf_rnn,
            "leaf_dropout": self.leaf_dropout.rate,
        }

    @classmethod
    def from_config(cls, config: dict) -> "TreeEncoder":
        """The inverse of `get_config`."""
        return cls(**config | {"embedding": from_configuration(config["embedding"])})


@on_cpu
def _checked(words, transitions):
    """The transitions, if each row is a tree of the words in it; else words would become a part of other sentences."""
    count = tf.math.count_nonzero(words != PADDING, axis=1)
    fit = (count == tf.math.count_nonzero(transitions == SHIFT, axis=1)) & (are_trees(transitions) | (count == 0))
    message = "each row of transitions must be one tree (1 SHIFT, 2 REDUCE, 0 padding) of the words in that row"
    with tf.control_dependencies([tf.raw_ops.Assert(condition=tf.reduce_all(fit), data=[message, transitions])]):
        return tf.identity(transitions)


@on_cpu
def _real(words):
    """The words [sentences, words] that are no padding: [real words]."""
    return tf.boolean_mask(words, words != PADDING)


@on_cpu
def _real_places(words):
    """Where those words are: int64 [real words], positions in the flat `words`."""
    return tf.where(tf.reshape(words, [-1]) != PADDING)[:, 0]


@on_cpu
def _roots(rows, transitions):
    """The rows of the roots [sentences], given those of all nodes."""
    steps = tf.math.count_nonzero(transitions != PAD, axis=1, dtype=tf.int32)
    rows = tf.pad(rows, [[0, 0], [1, 0]])  # the row of zeros, for a sentence without words
    return tf.gather(rows, steps, batch_dims=1)


@keras.saving.register_keras_serializable("tfnmt")
class TreeLSTMEncoder(TreeEncoder):
    """SPINN-PI-NT (Bowman et al. 2016, arXiv:1603.06021): parsed input, no tracker. A composition over given trees.

    Without a tracker nothing goes from left to right, so all phrases of one depth, over all sentences, are one product:
    there are as many iterations as the highest tree has levels, and no row is composed in vain.
    """

    def __init__(self, embedding: keras.layers.Layer, units: int, composition: str = "tree-lstm", **options: Any):
        super().__init__(embedding, units, composition, **options)
        self.compose = COMPOSITIONS[composition](units, name="compose", dtype=self.dtype_policy.name)

    def build(self, input_shape: Any = None) -> None:
        super().build()
        self.compose.build()

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> dict[str, tf.Tensor]:
        """Encode sentences along their trees.

        Args:
            inputs: a dictionary: "words" int32 [sentences, words], "transitions" int32 [sentences, steps] (see
                `tfnmt.text.transitions`), both padded with 0.
            training: whether there is dropout, and batch normalisation of the word vectors uses the batch's moments.

        Returns:
            A dictionary: "root" float [sentences, units], h of every sentence's root; "nodes" float [sentences, steps,
            units], h of every node, zeros in padding; "transitions", those given.

        Raises:
            ValueError: there are no transitions.
            tf.errors.InvalidArgumentError: some are no tree of all words of their sentence.
        """
        transitions = self.given_transitions(inputs)
        schedule = schedule_by_depth(transitions)
        (h, _), _ = compose_trees(
            self._step,
            self.leaves(inputs["words"], training),
            schedule,
            weights=self.composition_weights(training),
            constants=self.compose.loop_constants(),
        )
        return self.results(h, schedule.rows, transitions)

    def _step(self, inputs, states, invariants: LoopInvariants):
        """All phrases of one depth."""
        return self.compose.step(inputs["h"], inputs["c"], invariants), states
