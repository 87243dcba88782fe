"""SPINN whose tracker reads words alone: first it parses, then the tree is composed."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.trees.encoder import TreeLSTMEncoder
from tfnmt.layers.trees.tracker import legal_logits, log_probability
from tfnmt.layers.trees.word_tracker import WordTracker


@keras.saving.register_keras_serializable("tfnmt")
class WordSPINN(TreeLSTMEncoder):
    """A `WordTracker` parses, and phrases are composed along its tree, all of one depth at once, as in SPINN-PI-NT.

    Neither reads what the other computes: the composition learns from the classes alone, the tracker from given parses
    (parse="predicted") or from the rewards of its own (parse="sampled"), as in `SPINN`.

    Args:
        embedding: a `tfnmt.layers.embedding.WordVectors`.
        units, composition, composition_dropout: as in `TreeEncoder`.
        tracker_units, reduce_bias: of the `WordTracker`.
        parse: "predicted" or "sampled".
    """

    def __init__(
        self,
        embedding: keras.layers.Layer,
        units: int,
        tracker_units: int,
        parse: str = "predicted",
        reduce_bias: float = 0.0,
        composition: str = "tree-lstm",
        **options: Any,
    ):
        super().__init__(embedding, units, composition, **options)
        if parse not in ("predicted", "sampled"):
            raise ValueError(f'parse is "predicted" or "sampled", not {parse!r}')
        self.parse = parse
        self.tracker = WordTracker(embedding.E.input_dim, tracker_units, reduce_bias, name="tracker")

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
        results = super().call({"words": words, "transitions": transitions}, training)
        logits = legal_logits(self.tracker(words, transitions), transitions)
        results["transition_logits"] = logits
        if self.parse == "sampled":
            results["log_probability"] = log_probability(logits, transitions)
        return results

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        options = {"tracker_units": self.tracker.units, "parse": self.parse, "reduce_bias": self.tracker.reduce_bias}
        return {**super().get_config(), **options}
