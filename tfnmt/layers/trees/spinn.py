"""SPINN, the stack-augmented parser-interpreter neural network: Bowman et al. 2016, arXiv:1603.06021."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.invariants import LoopInvariants, invariants_for_one_step, scoped
from tfnmt.layers.registry import COMPOSITIONS
from tfnmt.layers.trees.encoder import TreeEncoder
from tfnmt.layers.trees.loop import compose_trees
from tfnmt.layers.trees.parser import Parses, gumbel_noise, parse
from tfnmt.layers.trees.schedule import schedule_by_step
from tfnmt.layers.trees.tracker import Tracker, predictions


@keras.saving.register_keras_serializable("tfnmt")
class SPINN(TreeEncoder):
    """A tracker reads from left to right: before every transition it reads buffer and stack, and its state enters the
    composition (unless told otherwise). Where parses come from:

        parse="given"      SPINN-PI: from the inputs.
        parse="predicted"  SPINN: from the inputs while training, which gives the transition loss its labels; from the
                           tracker otherwise. No parse is needed then.
        parse="sampled"    RL-SPINN (Yogatama et al. 2017, arXiv:1611.09100): from the tracker always. With a seed they
                           are drawn from its probabilities, without one they are the most probable.

    A tracker predicts transitions in a loop that has no gradient. Where one is needed, the trees are composed a second
    time, as if they had been given. So learning to parse, from labels or rewards, takes the same fast path.

    Args:
        embedding, units, composition, composition_dropout, leaf_rnn, leaf_dropout: as in `TreeEncoder`. In training,
            the tracker parses with what is dropped then: the probability that is rewarded is that of the draw.
        tracker_units: size of the tracker's state.
        parse: "given", "predicted" or "sampled".
        tracked_composition: whether the tracker's state enters the composition, as in the paper. Without, the tracker
            only parses, as the parser of Havrylov et al. 2019, arXiv:1902.09393.
    """

    def __init__(
        self,
        embedding: keras.layers.Layer,
        units: int,
        tracker_units: int,
        parse: str = "given",
        tracked_composition: bool = True,
        composition: str = "tree-lstm",
        composition_dropout: float = 0.0,
        **options: Any,
    ):
        super().__init__(embedding, units, composition, composition_dropout, **options)
        if parse not in ("given", "predicted", "sampled"):
            raise ValueError(f'parse is "given", "predicted" or "sampled", not {parse!r}')
        self.parse = parse
        self.tracked_composition = tracked_composition
        self.tracker = Tracker(tracker_units, predicts=parse != "given", name="tracker", dtype=self.dtype_policy.name)
        tracking = tracker_units if tracked_composition else 0
        self.compose = COMPOSITIONS[composition](units, tracking, name="compose", dtype=self.dtype_policy.name)

    def build(self, input_shape: Any = None) -> None:
        super().build()
        self.tracker.build((None, 3, self.units))
        self.compose.build()

    def call(
        self, inputs: dict[str, tf.Tensor], training: bool = False, seed: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        """Encode sentences as trees.

        Args:
            inputs: a dictionary: "words" int32 [sentences, words], and where parses are given, "transitions" int32
                [sentences, steps], both padded with 0.
            training: whether word vectors are trained (dropout, batch normalisation), and a predicted parse given. With
                parses of the tracker there is a gradient only in training.
            seed: for parse="sampled", int32 [2], from which transitions are drawn.

        Returns:
            A dictionary: "root", "nodes" and "transitions" (those used) as `TreeLSTMEncoder` gives them; where the
            tracker predicts, also "transition_logits" float [sentences, steps, 2], of SHIFT and REDUCE, −10,000 for
            illegal moves; and for parse="sampled" also "log_probability" float [sentences], that of the whole
            parse. Steps are those of the given transitions, or 2 · words − 1 where the tracker predicts them.

        Raises:
            ValueError: parses are given, and there are no transitions.
            tf.errors.InvalidArgumentError: some are no tree of all words of their sentence.
        """
        leaves = self.leaves(inputs["words"], training)
        weights_and_constants = self._loop_weights_and_constants(training)
        if self.parse == "given" or (self.parse == "predicted" and training):
            return self._composed(leaves, self.given_transitions(inputs), weights_and_constants)
        parses = self._parses(leaves, inputs["words"], seed, weights_and_constants)
        if training:
            return self._composed(leaves, parses.transitions, weights_and_constants)
        results = self.results(parses.h, parses.rows, parses.transitions)
        return results | predictions(parses.logits, parses.transitions, self.parse == "sampled")

    def _composed(self, leaves, transitions, weights_and_constants):
        """The results of trees that are known, with gradient."""
        schedule = schedule_by_step(transitions)
        states = tuple(self.tracker.get_initial_state(tf.shape(transitions)[0]))
        (h, _), (tracking, _) = compose_trees(self._step, leaves, schedule, *weights_and_constants, states)
        results = self.results(h, schedule.rows, transitions)
        if self.tracker.predicts:
            # PAD takes row 0: where no sentence has a word, that is the row of padding.
            logits = tf.pad(self.tracker.logits(tracking), [[0, 1], [0, 0]])
            logits = tf.gather(logits, schedule.state_positions)
            results |= predictions(logits, transitions, self.parse == "sampled")
        return results

    def _step(self, inputs, states, invariants: LoopInvariants):
        """One transition of all sentences: the tracker reads buffer and stack, then those that REDUCE compose."""
        states = self.tracker.step(inputs["reads"], states, invariants.scope("tracker"))
        tracking = tf.gather(states[0], inputs["sentence_indices"])
        return self.compose.step(inputs["h"], inputs["c"], invariants.scope("compose"), tracking), states

    def _parses(self, leaves, words, seed, weights_and_constants) -> Parses:
        """The trees that the tracker predicts, drawn from its probabilities if there is a seed."""
        invariants = invariants_for_one_step(*weights_and_constants)
        sentences, width = tf.shape(words)[0], tf.shape(words)[1]
        noise = None
        if seed is not None:  # `parse` takes at least one step
            noise = gumbel_noise(seed, tf.maximum(2 * width, 1), sentences, leaves[0].dtype)
        return parse(
            lambda reads, states: self.tracker.step(reads, states, invariants.scope("tracker")),
            self.tracker.logits,
            lambda h, c, tracking: self.compose.step(h, c, invariants.scope("compose"), tracking),
            leaves,
            lengths=tf.math.count_nonzero(words, axis=1, dtype=tf.int32),
            width=width,
            states=tuple(self.tracker.get_initial_state(sentences)),
            noise=noise,
        )

    def _loop_weights_and_constants(self, training):
        weights = {"tracker": self.tracker.loop_weights(), "compose": self.composition_weights(training)}
        constants = {"tracker": self.tracker.loop_constants(), "compose": self.compose.loop_constants()}
        return scoped(weights), scoped(constants)

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        options = {"tracker_units": self.tracker.units, "parse": self.parse}
        return {**super().get_config(), **options, "tracked_composition": self.tracked_composition}
