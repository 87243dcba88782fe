"""Encoders that read a sentence as a tree: SPINN, the stack-augmented parser-interpreter neural network.

Bowman et al. 2016, arXiv:1603.06021. The words of all sentences become leaves; `tfnmt.layers.trees.grow.grow` makes the
other nodes; the root is the sentence's vector.
"""

import keras
import tensorflow as tf

from tfnmt.layers.recurrence import invariants_for_one_step, scoped
from tfnmt.layers.trees.grow import grow
from tfnmt.layers.trees.parser import parse
from tfnmt.layers.trees.schedule import legal_moves, plan_by_height, plan_by_step
from tfnmt.layers.trees.tracker import UNLIKELY, Tracker
from tfnmt.layers.trees.tree_lstm import TreeLSTM
from tfnmt.text.brackets import NOTHING, REDUCE
from tfnmt.text.tokenizer import PADDING


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
        """int32 [sentences, words], padded with 0 → (h, c), each float [real words, units], padding left out."""
        real = tf.boolean_mask(words, words != PADDING)
        vectors = self.embedding(real[tf.newaxis], training=training)
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
                [sentences, steps], padded with 0 (see `tfnmt.text.brackets`).
            training: whether the word vectors are trained (dropout, batch normalisation).

        Returns:
            A dictionary: "root" float [sentences, units], h of every sentence's root; "nodes" float [sentences, steps,
            units], h of every node, zeros in padding; "transitions", those given.
        """
        plan = plan_by_height(*(batch[name] for name in ("transitions", "left", "right", "height")))

        def step(seen, states, invariants):
            return self.compose.step(seen["h"], seen["c"], invariants), states

        (h, _), _ = grow(
            step,
            self.leaves(batch["words"], training),
            plan["children"],
            plan["ends"],
            weights=self.compose.loop_weights(),
            constants=self.compose.loop_constants(),
        )
        return self.read(h, plan["rows"], batch["transitions"])


class SpinnEncoder(TreeEncoder):
    """SPINN: a tracker reads from left to right, sees buffer and stack before every transition, and its state enters
    the composition (unless told otherwise). Where parses come from:

        parse="given"      SPINN-PI: from the batch.
        parse="predicted"  SPINN: from the batch while training, which gives the transition loss its answers; from the
                           tracker otherwise. No parse is needed then.
        parse="sampled"    RL-SPINN (Yogatama et al. 2017, arXiv:1611.09100): from the tracker always. With a seed they
                           are drawn from its probabilities, without one they are the likeliest.

    A tracker that decides does so in a loop that has no gradient; the trees are then grown as if given. So learning to
    parse, by answers or by rewards, takes the same fast path.

    Args:
        embedding, units: as in `TreeEncoder`.
        tracker_units: size of the tracker's state.
        parse: "given", "predicted" or "sampled".
        tracked_composition: whether the tracker's state enters the composition, as in the paper. Without, the tracker
            parses and no more, as the parser of Havrylov et al. 2019, arXiv:1902.09393.
    """

    def __init__(self, embedding, units, tracker_units, parse="given", tracked_composition=True, **options):
        super().__init__(embedding, units, **options)
        if parse not in ("given", "predicted", "sampled"):
            raise ValueError(f'parse is "given", "predicted" or "sampled", not {parse!r}')
        self.parse = parse
        self.tracker = Tracker(tracker_units, predicts=parse != "given", name="tracker")
        self.compose = TreeLSTM(units, tracker_units if tracked_composition else 0, name="compose")

    def build(self, _=None):
        super().build()
        self.tracker.build(3 * self.units)
        self.compose.build()

    def call(self, batch, training=False, seed=None):
        """Read sentences as trees.

        Args:
            batch: a dictionary: "words" int32 [sentences, words], and where parses are given, "transitions" int32
                [sentences, steps], both padded with 0.
            training: whether word vectors are trained (dropout, batch normalisation), and a predicted parse given.
            seed: for parse="sampled", int32 [2], from which transitions are drawn.

        Returns:
            A dictionary: "root", "nodes" and "transitions" (those used) as `LevelEncoder` gives them; where the tracker
            predicts, also "transition_logits" float [sentences, steps, 2], the logits of SHIFT and REDUCE, very low for
            illegal moves; and for parse="sampled" also "log_probability" float [sentences], that of the whole parse.
            Steps are those of the batch's transitions, or 2 · longest − 1 where the tracker makes them.
        """
        leaves = self.leaves(batch["words"], training)
        if self.parse == "given" or (self.parse == "predicted" and training):
            transitions = batch["transitions"]
        else:
            transitions = self.choose_transitions(leaves, batch["words"], seed)
        plan = plan_by_step(transitions)
        (h, _), (tracking, _) = grow(
            self._step,
            leaves,
            plan["children"],
            plan["ends"],
            *self._loop_weights_and_constants(),
            states=self.tracker.start(tf.shape(transitions)[0]),
            looks=plan["looks"],
            look_ends=plan["look_ends"],
            whose=plan["whose"],
        )
        results = self.read(h, plan["rows"], transitions)
        if self.tracker.predicts:
            scores = tf.gather(self.tracker.scores(tracking), plan["places"])
            scores = tf.where(legal_moves(transitions), scores, UNLIKELY)
            results["transition_logits"] = scores
            if self.parse == "sampled":
                results["log_probability"] = log_probability(scores, transitions)
        return results

    def choose_transitions(self, leaves, words, seed=None):
        """The parses that the tracker decides on: int32 [sentences, 2 · longest − 1], padded with NOTHING.

        Args:
            leaves: (h, c), as `leaves` gives them.
            words: int32 [sentences, words].
            seed: int32 [2] to draw them from their probabilities; None for the likeliest at each step.
        """
        invariants = invariants_for_one_step(*self._loop_weights_and_constants())
        sentences, width = tf.shape(words)[0], tf.shape(words)[1]
        noise = None if seed is None else gumbel_noise(seed, 2 * width, sentences, leaves[0].dtype)

        def choose(t, sentences, states):
            scores = self.tracker.scores(states[0])
            if noise is not None:
                scores += tf.gather(noise[t], sentences)
            return tf.argmax(scores, axis=1, output_type=tf.int32)

        return parse(
            lambda looks, states: self.tracker.step(looks, states, invariants.scope("tracker")),
            choose,
            lambda h, c, tracking: self.compose.step(h, c, invariants.scope("compose"), tracking),
            leaves,
            lengths=tf.math.count_nonzero(words, axis=1, dtype=tf.int32),
            states=self.tracker.start(sentences),
        )

    def _step(self, seen, states, invariants):
        """One transition of all sentences: the tracker looks at buffer and stack, then those that REDUCE compose."""
        states = self.tracker.step(seen["looks"], states, invariants.scope("tracker"))
        tracking = tf.gather(states[0], seen["whose"])
        return self.compose.step(seen["h"], seen["c"], invariants.scope("compose"), tracking), states

    def _loop_weights_and_constants(self):
        parts = {"tracker": self.tracker, "compose": self.compose}
        weights = scoped({name: part.loop_weights() for name, part in parts.items()})
        return weights, scoped({name: part.loop_constants() for name, part in parts.items()})


def gumbel_noise(seed, steps, sentences, dtype):
    """[steps, sentences, 2]: the larger of two logits plus such noise is a draw from their softmax (Gumbel 1954)."""
    uniform = tf.random.stateless_uniform([steps, sentences, 2], seed, minval=1e-30, dtype=dtype)
    return -tf.math.log(-tf.math.log(uniform))


def log_probability(scores, transitions):
    """log p of whole parses, [sentences]: the sum over steps of log softmax(scores) of the transition taken.

    Args:
        scores: float [sentences, steps, 2], of SHIFT and REDUCE.
        transitions: int32 [sentences, steps], padded with NOTHING, which counts nothing.
    """
    each = tf.nn.log_softmax(scores)
    taken = tf.where(transitions == REDUCE, each[:, :, 1], each[:, :, 0])
    return tf.reduce_sum(tf.where(transitions == NOTHING, tf.zeros_like(taken), taken), axis=1)
