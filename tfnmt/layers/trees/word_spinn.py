"""SPINN whose tracker reads words alone: first it parses, then the tree is composed."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfnmt.devices import on_cpu
from tfnmt.layers.trees.encoder import TreeLSTMEncoder
from tfnmt.layers.trees.tracker import predictions
from tfnmt.layers.trees.word_tracker import WordTracker
from tfnmt.text.tokenizer import PADDING
from tfnmt.text.transitions import without_words


@keras.saving.register_keras_serializable("tfnmt")
class WordSPINN(TreeLSTMEncoder):
    """A `WordTracker` parses, and phrases are composed along its tree, all of one depth at once, as in SPINN-PI-NT.

    Neither reads what the other computes: the composition learns from the classes alone, the tracker from given parses
    (parse="predicted") or from the rewards of its own (parse="sampled"), as in `SPINN`. So words that say where phrases
    begin and end, and nothing else, can be left to the tracker: the tree that it finds is composed without them.

    Args:
        embedding: a `tfnmt.layers.embedding.WordVectors`.
        units, composition, composition_dropout, leaf_rnn, leaf_dropout: as in `TreeEncoder`.
        tracker_units, reduce_bias: of the `WordTracker`.
        parse: "predicted" or "sampled".
        uncomposed: ids of the words that only the tracker reads, unless a sentence has no others. A phrase of one of
            them and another phrase has the vector of the other phrase, see `tfnmt.text.transitions.without_words`.
    """

    def __init__(
        self,
        embedding: keras.layers.Layer,
        units: int,
        tracker_units: int,
        parse: str = "predicted",
        reduce_bias: float = 0.0,
        composition: str = "tree-lstm",
        uncomposed: Sequence[int] = (),
        **options: Any,
    ):
        super().__init__(embedding, units, composition, **options)
        if parse not in ("predicted", "sampled"):
            raise ValueError(f'parse is "predicted" or "sampled", not {parse!r}')
        self.parse = parse
        self.uncomposed = tuple(uncomposed)
        self.tracker = WordTracker(
            embedding.E.input_dim, tracker_units, reduce_bias, name="tracker", dtype=self.dtype_policy.name
        )

    def build(self, input_shape: Any = None) -> None:
        super().build()
        self.tracker.build()

    def call(
        self, inputs: dict[str, tf.Tensor], training: bool = False, seed: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        """Encode sentences as trees; arguments, results and errors as of `SPINN.call`."""
        words = inputs["words"]
        if training and self.parse == "predicted":
            transitions = self.given_transitions(inputs)
        else:
            transitions = self.tracker.parse(words, seed)
        results = self._composed(words, transitions, training)
        return results | predictions(self.tracker(words, transitions), transitions, self.parse == "sampled")

    def _composed(self, words, transitions, training):
        """The results of trees that are known."""
        if not self.uncomposed:
            return super().call({"words": words, "transitions": transitions}, training)
        composed_words, composed, nodes = self._left_out(words, transitions)
        results = super().call({"words": composed_words, "transitions": composed}, training)
        vectors = tf.gather(tf.pad(results["nodes"], [[0, 0], [1, 0], [0, 0]]), nodes + 1, batch_dims=1)
        return results | {"nodes": vectors, "transitions": transitions}

    @on_cpu
    def _left_out(self, words, transitions):
        """What is composed: words [sentences, fewer words], transitions, and the nodes that all nodes become there."""
        real = kept = words != PADDING
        for word in self.uncomposed:
            kept &= words != word
        kept |= real & ~tf.reduce_any(kept, axis=1, keepdims=True)
        transitions, nodes = without_words(transitions, kept)
        return tf.ragged.boolean_mask(words, kept).to_tensor(PADDING), transitions, nodes

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        options = {"tracker_units": self.tracker.units, "parse": self.parse, "reduce_bias": self.tracker.reduce_bias}
        return {**super().get_config(), **options, "uncomposed": self.uncomposed}
