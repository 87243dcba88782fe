"""A tracker that reads words alone is its twin of Python lists, and trees are composed as it parses them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.layers.trees.test_spinn import in_a_graph
from tests.layers.trees.tree_batches import (
    VOCABULARY,
    batch_of,
    left_branching,
    random_tree,
    right_branching,
    shapes_of_trees,
    with_random_weights,
)
from tfnmt.define_by_run import recursive
from tfnmt.layers.embedding import WordVectors
from tfnmt.layers.trees.tracker import ILLEGAL
from tfnmt.layers.trees.word_spinn import WordSPINN
from tfnmt.layers.trees.word_tracker import WordTracker
from tfnmt.text.brackets import PAD, REDUCE, SHIFT
from tfnmt.text.transitions import are_trees

UNITS, TRACKER_UNITS = 3, 4
BATCHES = shapes_of_trees()
pytestmark = pytest.mark.usefixtures("doubles")


def twin(tracker, words, transitions=None):
    """One sentence's transitions, given or most probable, and the logits before each; the stack is a list of spans."""
    words = [int(word) for word in words if word]
    buffer, stack, taken, logits = list(range(len(words))), [], [], []
    state = [tf.zeros([1, TRACKER_UNITS], tf.float64)] * 2

    def e(position):
        return tracker.E(tf.constant([words[position] if 0 <= position < len(words) else 0]))

    while buffer or len(stack) > 1:
        start, end = stack[-1] if stack else (0, 0)
        h, state = tracker.cell(tf.concat([e(start - 1), e(start), e(end - 1), e(end)], axis=1), state)
        logits.append(tf.matmul(h, tracker.W_p)[0] + tracker.b_p)
        if transitions is not None:
            transition = int(transitions[len(taken)])
        elif not buffer or len(stack) < 2:
            transition = SHIFT if buffer else REDUCE
        else:
            transition = REDUCE if logits[-1][1] > logits[-1][0] else SHIFT
        taken.append(transition)
        if transition == SHIFT:
            position = buffer.pop(0)
            stack.append((position, position + 1))
        else:
            right, left = stack.pop(), stack.pop()
            stack.append((left[0], right[1]))
    return taken, tf.stack(logits)


@pytest.mark.parametrize("name", ["one word", "mixed"])
def test_logits_and_gradients_are_those_of_lists(name):
    tracker, batch = with_random_weights(WordTracker(VOCABULARY, TRACKER_UNITS)), BATCHES[name]
    real = batch["transitions"] != PAD
    weights = tf.sin(1.0 + tf.range(2 * tf.reduce_sum(tf.cast(real, tf.int32)), dtype=tf.float64))
    variables = [variable.value for variable in tracker.trainable_variables]

    def by_graph():
        return tf.boolean_mask(tf.function(tracker)(batch["words"], batch["transitions"]), real)

    def by_lists():
        return tf.concat([twin(tracker, *sentence)[1] for sentence in zip(*batch.values(), strict=True)], axis=0)

    results, gradients = [], []
    for logits in (by_graph, by_lists):
        with tf.GradientTape() as tape:  # not persistent: the graph of such a one has the second derivatives, too
            results.append(logits())
            loss = tf.reduce_sum(tf.reshape(results[-1], [-1]) * weights)
        gradients.append(tape.gradient(loss, variables))
    np.testing.assert_allclose(*results, rtol=1e-9, atol=1e-12)
    for gradient, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(gradient, tf.convert_to_tensor(expected), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(2))
def test_the_most_probable_parse_is_that_of_lists(seed):
    tracker = with_random_weights(WordTracker(VOCABULARY, TRACKER_UNITS), seed)
    random = np.random.default_rng(seed)
    words = batch_of([random_tree(random, n) for n in (6, 1, 9, 2, 4)], padding=1, seed=seed)["words"]
    found = tf.function(tracker.parse)(words).numpy().tolist()
    for sentence, transitions in zip(words, found, strict=True):
        expected, _ = twin(tracker, sentence)
        assert transitions == expected + [PAD] * (len(transitions) - len(expected))


def test_draws_are_trees_as_probable_as_the_logits_say():
    """Of three words there are two trees, which differ in the third transition alone."""
    tracker = with_random_weights(WordTracker(VOCABULARY, TRACKER_UNITS))
    words = tf.constant([[1, 2, 3]] * 4000)
    drawn = tracker.parse(words, tf.constant([1, 2]))
    assert bool(tf.reduce_all(are_trees(drawn)))
    np.testing.assert_array_equal(drawn, tracker.parse(words, tf.constant([1, 2])))
    logits = tracker(words[:1], drawn[:1])[0, 2]
    probability = float(tf.nn.softmax(logits)[1])
    assert 0.05 < probability < 0.95
    assert np.mean(drawn[:, 2] == REDUCE) == pytest.approx(probability, abs=3 * np.sqrt(0.25 / 4000))


def word_spinn(parse, **options):
    return with_random_weights(WordSPINN(WordVectors(VOCABULARY, 2 * UNITS), UNITS, TRACKER_UNITS, parse, **options))


@pytest.mark.parametrize("parse", ["predicted", "sampled"])
def test_a_parsed_sentence_is_composed_by_recursion(parse):
    encoder = word_spinn(parse)
    run = in_a_graph(encoder, names=["words"])
    for batch in BATCHES.values():
        found = run({"words": batch["words"]})
        parses = [twin(encoder.tracker, words)[0] for words in batch["words"]]
        steps = found["transitions"].shape[1]
        transitions = tf.constant([parsed + [PAD] * (steps - len(parsed)) for parsed in parses])
        np.testing.assert_array_equal(found["transitions"], transitions)
        expected = recursive.encode(encoder, {"words": batch["words"], "transitions": transitions})
        np.testing.assert_allclose(found["root"], expected["root"], rtol=1e-9, atol=1e-12)


def test_in_training_given_parses_are_composed_and_the_tracker_learns_them():
    encoder, batch = word_spinn("predicted"), BATCHES["mixed"]
    found = in_a_graph(lambda batch: encoder(batch, training=True))(batch)
    np.testing.assert_array_equal(found["transitions"], batch["transitions"])
    np.testing.assert_allclose(found["root"], recursive.encode(encoder, batch)["root"], rtol=1e-9, atol=1e-12)
    assert "log_probability" not in found
    with pytest.raises(ValueError, match='without "transitions"'):
        encoder({"words": batch["words"]}, training=True)


def left_out(words, transitions, uncomposed):
    """One sentence without the words that are not composed, and its tree, by nested tuples; and what is left of each
    node."""
    words = [int(word) for word in words if word]
    if set(words) <= set(uncomposed):
        uncomposed = ()
    buffer, stack, nodes = list(words), [], []
    for transition in [int(transition) for transition in transitions if transition]:
        if transition == SHIFT:
            word = buffer.pop(0)
            stack.append(() if word in uncomposed else word)
        else:
            right, left = stack.pop(), stack.pop()
            stack.append((left, right) if left != () and right != () else left or right)
        nodes.append(stack[-1])
    return stack[-1], nodes


def by_recursion(encoder, tree):
    """(h, c) of nested tuples."""
    if tree == ():
        return tf.zeros([1, UNITS], tf.float64), None
    if not isinstance(tree, tuple):
        return encoder.leaves(tf.constant([[tree]]))
    children = zip(*(by_recursion(encoder, child) for child in tree), strict=True)
    return encoder.compose(tuple(tf.stack(side, axis=1) for side in children))


@pytest.mark.parametrize("uncomposed", [(2, 5), (1, 3, 4, 6, 7, 8, 9), tuple(range(1, VOCABULARY))])
def test_words_may_be_left_to_the_tracker(uncomposed):
    """Trees are composed without them; the tracker reads them, as before; every node of its parse has its vector."""
    encoder, all_composed = word_spinn("predicted", uncomposed=uncomposed), word_spinn("predicted")
    run = in_a_graph(encoder, names=["words"])
    for batch in BATCHES.values():
        found, without = run({"words": batch["words"]}), all_composed({"words": batch["words"]})
        for name in ("transitions", "transition_logits"):
            np.testing.assert_array_equal(found[name], without[name])
        for words, transitions, root, vectors in zip(
            batch["words"], found["transitions"], found["root"], found["nodes"], strict=True
        ):
            tree, nodes = left_out(words, transitions, uncomposed)
            np.testing.assert_allclose(root, by_recursion(encoder, tree)[0][0], rtol=1e-9, atol=1e-12)
            expected = [by_recursion(encoder, node)[0][0] for node in nodes]
            np.testing.assert_allclose(vectors[: len(nodes)], expected, rtol=1e-9, atol=1e-12)
            assert not vectors[len(nodes) :].numpy().any()


def test_in_training_too_words_are_left_to_the_tracker():
    encoder, batch = word_spinn("predicted", uncomposed=(2, 5)), batch_of([right_branching(9), left_branching(4)])
    with tf.GradientTape() as tape:
        found = in_a_graph(lambda batch: encoder(batch, training=True))(batch)
        logits = found["transition_logits"]
        loss = tf.reduce_sum(found["root"] ** 2) + tf.reduce_sum(logits[logits > ILLEGAL] ** 2)
    np.testing.assert_array_equal(found["transitions"], batch["transitions"])
    for root, *sentence in zip(found["root"], *batch.values(), strict=True):
        tree, _ = left_out(*sentence, (2, 5))
        np.testing.assert_allclose(root, by_recursion(encoder, tree)[0][0], rtol=1e-9, atol=1e-12)
    vectors, tracker_vectors = encoder.embedding.E.embeddings.value, encoder.tracker.E.embeddings.value
    composed, read = (tf.convert_to_tensor(each) for each in tape.gradient(loss, [vectors, tracker_vectors]))
    present = set(batch["words"].numpy().ravel()) - {0}
    assert {int(word) for word in np.flatnonzero(composed.numpy().any(axis=1))} == present - {2, 5}
    assert {int(word) for word in np.flatnonzero(read.numpy().any(axis=1))} - {0} == present > {2, 5}


def test_the_log_probability_of_a_draw():
    encoder, batch = word_spinn("sampled"), BATCHES["mixed"]
    found = encoder({"words": batch["words"]}, training=True, seed=tf.constant([3, 4]))
    np.testing.assert_array_equal(found["transitions"], encoder.tracker.parse(batch["words"], tf.constant([3, 4])))
    for i, words in enumerate(batch["words"]):
        transitions, logits = twin(encoder.tracker, words, found["transitions"][i])
        expected, left, height = 0.0, len([w for w in words if w]), 0
        for transition, pair in zip(transitions, logits, strict=True):
            if left and height > 1:  # there is a choice
                expected += float(tf.nn.log_softmax(pair)[int(transition == REDUCE)])
            left -= transition == SHIFT
            height += 1 if transition == SHIFT else -1
        assert float(found["log_probability"][i]) == pytest.approx(expected, rel=1e-9)


def test_tracker_and_composition_know_nothing_of_each_other():
    encoder, batch = word_spinn("sampled"), BATCHES["mixed"]
    with tf.GradientTape(persistent=True) as tape:
        found = encoder({"words": batch["words"]}, training=True, seed=tf.constant([3, 4]))
        root, log_p = tf.reduce_sum(found["root"]), tf.reduce_sum(found["log_probability"])
    composition = [encoder.embedding.E.embeddings.value, *(v.value for v in encoder.compose.trainable_variables)]
    tracker = [variable.value for variable in encoder.tracker.trainable_variables]
    assert tape.gradient(log_p, composition) == [None] * len(composition)
    assert tape.gradient(root, tracker) == [None] * len(tracker)
    assert all(tf.reduce_any(tape.gradient(log_p, variable) != 0) for variable in tracker)


def test_its_configuration_makes_it_again():
    keras.config.set_dtype_policy("float32")
    encoder = word_spinn("predicted", reduce_bias=2.0, uncomposed=(2, 5))
    again = WordSPINN.from_config(encoder.get_config())
    again.build()
    np.testing.assert_array_equal(again.tracker.b_p, [0, 2])
    again.set_weights(encoder.get_weights())
    batch = {"words": BATCHES["mixed"]["words"]}
    np.testing.assert_array_equal(again(batch)["root"], encoder(batch)["root"])
    assert (again.parse, again.tracker.units, again.uncomposed) == ("predicted", TRACKER_UNITS, (2, 5))


@pytest.mark.parametrize("uncomposed", [(), (2, 5)])
def test_sentences_without_words_have_a_root_of_zeros(uncomposed):
    results = word_spinn("sampled", uncomposed=uncomposed)({"words": tf.zeros([2, 3], tf.int32)})
    np.testing.assert_array_equal(results["root"], np.zeros([2, UNITS]))


def test_parses_must_come_from_the_tracker():
    with pytest.raises(ValueError, match='"predicted" or "sampled", not \'given\''):
        word_spinn("given")
