"""Every tree encoder is its define-by-run twin: the same outputs, the same gradients, whatever the trees' shapes."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.layers.trees.tree_batches import Vectors, batch_of, random_tree, shapes_of_trees
from tfnmt.define_by_run import recursive, spinn
from tfnmt.layers.trees.encoder import TreeLSTMEncoder
from tfnmt.layers.trees.parser import gumbel_noise
from tfnmt.layers.trees.spinn import SPINN
from tfnmt.layers.trees.tracker import legal_logits, log_probability
from tfnmt.text.brackets import PAD, REDUCE, SHIFT, from_brackets, to_brackets

UNITS = 3
BATCHES = shapes_of_trees()
pytestmark = pytest.mark.usefixtures("doubles")


def tree_lstm_encoder(vector_size=2 * UNITS):
    keras.utils.set_random_seed(4)
    encoder = TreeLSTMEncoder(Vectors(vector_size), UNITS)
    encoder.build()
    encoder.compose.b.assign(np.random.default_rng(5).normal(size=[5 * UNITS]))
    return encoder


def variables(encoder):
    return [encoder.embedding.table, *(v.value for v in encoder.trainable_variables)]


def results_and_gradients(encoder, names, call, batch):
    """The results of those names, and the gradients of a sum of all of them, each place with a weight of its own."""
    with tf.GradientTape() as tape:
        results = call(batch)
        results = {name: results[name] for name in names}
        flat = tf.concat([tf.reshape(results[name], [-1]) for name in names], axis=0)
        loss = tf.reduce_sum(flat * tf.sin(1.0 + tf.range(tf.size(flat), dtype=flat.dtype)))
    gradients = tape.gradient(loss, variables(encoder), unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return results, [tf.convert_to_tensor(gradient) for gradient in gradients]


def in_a_graph(function, names=("words", "transitions")):
    """One trace for all shapes."""
    signature = {name: tf.TensorSpec([None, None], tf.int32) for name in names}
    return tf.function(function, input_signature=[signature], autograph=False)


def check_same(found, expected):
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12), found, expected)


@pytest.mark.parametrize("vector_size", [2 * UNITS, 4])
def test_level_by_level_is_plain_recursion(vector_size):
    encoder = tree_lstm_encoder(vector_size)
    run = in_a_graph(lambda batch: results_and_gradients(encoder, ["root"], encoder, batch))
    for batch in BATCHES.values():
        twin = results_and_gradients(encoder, ["root"], lambda batch: recursive.encode(encoder, batch), batch)
        check_same(run(batch), twin)
        check_same(results_and_gradients(encoder, ["root"], encoder, batch), twin)  # eagerly, too
    assert run.experimental_get_tracing_count() == 1


def spinn_encoder(parse, tracker_units=2, tracked_composition=True, **options):
    keras.utils.set_random_seed(6)
    encoder = SPINN(Vectors(2 * UNITS), UNITS, tracker_units, parse, tracked_composition, **options)
    encoder.build()
    random = np.random.default_rng(7)
    for variable in encoder.trainable_variables:
        variable.assign(random.normal(size=variable.shape))
    return encoder


@pytest.mark.parametrize(
    ("parse", "names"),
    [
        ("given", ["root", "nodes"]),
        ("predicted", ["root", "nodes", "transition_logits"]),
        ("sampled", ["root", "nodes", "transition_logits", "log_probability"]),
    ],
)
@pytest.mark.parametrize("tracked_composition", [True, False])
def test_a_stack_in_a_graph_is_python_lists(parse, names, tracked_composition):
    """In every variant, as in training."""
    encoder = spinn_encoder(parse, tracked_composition=tracked_composition)
    options = {"training": True} | ({"seed": tf.constant([1, 2])} if parse == "sampled" else {})
    run = in_a_graph(
        lambda batch: results_and_gradients(encoder, names, lambda batch: encoder(batch, **options), batch)
    )
    for batch in BATCHES.values():
        twin = results_and_gradients(encoder, names, lambda batch: spinn.encode(encoder, batch, **options), batch)
        check_same(run(batch), twin)
    assert run.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("seed", [None, [3, 4]])
def test_a_tracker_parses_as_its_twin(seed):
    """Without any parse, and always into binary trees of all the words."""
    encoder = spinn_encoder("sampled" if seed else "predicted")
    seed = seed and tf.constant(seed)
    run = in_a_graph(lambda batch: encoder(batch, seed=seed), names=["words"])
    for batch in BATCHES.values():
        words = {"words": batch["words"]}
        found, expected = run(words), spinn.encode(encoder, words, seed=seed)
        np.testing.assert_array_equal(found["transitions"], expected["transitions"])
        check_same(found["root"], expected["root"])
        for sentence, transitions in zip(batch["words"].numpy(), found["transitions"].numpy(), strict=True):
            real = [str(word) for word in sentence if word]
            _, again = from_brackets(to_brackets(real, transitions))
            assert again == list(transitions[: 2 * len(real) - 1])


def test_a_tracker_that_only_parses_changes_no_vectors():
    """With the same transitions they are those of the encoder that has no tracker."""
    encoder, batch = spinn_encoder("predicted", tracked_composition=False), BATCHES["mixed"]
    untracked = TreeLSTMEncoder(encoder.embedding, UNITS)
    untracked.build()
    untracked.compose.W.assign(encoder.compose.W)
    untracked.compose.b.assign(encoder.compose.b)
    check_same(encoder(batch, training=True)["nodes"], untracked(batch)["nodes"])


def test_shapes_may_be_known_when_the_graph_is_made():
    encoder, batch = spinn_encoder("sampled"), BATCHES["mixed"]
    options = {"training": True, "seed": tf.constant([1, 2])}
    run = lambda batch: results_and_gradients(encoder, ["root"], lambda batch: encoder(batch, **options), batch)  # noqa: E731
    check_same(tf.function(run, autograph=False)(batch), run(batch))


def test_level_by_level_is_python_lists():
    encoder = tree_lstm_encoder()
    run = in_a_graph(lambda batch: results_and_gradients(encoder, ["root", "nodes"], encoder, batch))
    for batch in BATCHES.values():
        twin = results_and_gradients(encoder, ["root", "nodes"], lambda batch: spinn.encode(encoder, batch), batch)
        check_same(run(batch), twin)


ENCODERS = {
    "untracked": tree_lstm_encoder,
    "given": lambda: spinn_encoder("given"),
    "sampled": lambda: spinn_encoder("sampled"),
}
TREES = [random_tree(np.random.default_rng(8), n) for n in (3, 6, 1, 4)]


@pytest.mark.parametrize("name", ENCODERS)
def test_padding_and_order_change_nothing(name):
    encoder, batch = ENCODERS[name](), batch_of(TREES)
    run = in_a_graph(encoder)
    expected = run(batch)
    with_padding = {key: tf.pad(value, [[0, 0], [0, 3]]) for key, value in batch.items()}
    check_same(run(with_padding)["root"], expected["root"])
    order = [2, 0, 3, 1]
    found = run({key: tf.gather(value, order) for key, value in batch.items()})
    for key in expected:
        check_same(found[key], tf.gather(expected[key], order))
    for s in range(len(TREES)):
        alone = run({key: value[s : s + 1] for key, value in batch.items()})
        check_same(alone["root"][0], expected["root"][s])


@pytest.mark.parametrize("name", ["untracked", "given"])
def test_gradients_are_the_slopes_of_finite_differences(name):
    encoder, batch = ENCODERS[name](), batch_of(TREES)

    @tf.function(autograph=False)
    def loss():
        root = encoder(batch)["root"]
        return tf.reduce_sum(root * tf.sin(1.0 + tf.range(UNITS, dtype=root.dtype)))

    with tf.GradientTape() as tape:
        value = loss()
    random = np.random.default_rng(9)
    for variable, gradient in zip(variables(encoder), tape.gradient(value, variables(encoder)), strict=True):
        direction = 1e-6 * random.normal(size=variable.shape)
        variable.assign_add(direction)
        above = loss()
        variable.assign_sub(2 * direction)
        slope = (above - loss()) / 2
        variable.assign_add(direction)
        np.testing.assert_allclose(slope, np.sum(tf.convert_to_tensor(gradient) * direction), rtol=1e-5, atol=1e-13)


@pytest.fixture
def rows_of_steps(monkeypatch):
    """A function: encoder → {layer: the rows that it computes from now on}."""

    def count(encoder):
        rows = {"compose": 0, "tracker": 0}

        def counting(name, step):
            def counted(first, *others):
                rows[name] += len(first)
                return step(first, *others)

            return counted

        for name in rows:
            if hasattr(encoder, name):
                layer = getattr(encoder, name)
                monkeypatch.setattr(layer, "step", counting(name, layer.step))
        return rows

    return count


@pytest.mark.parametrize("name", ["untracked", "given"])
def test_the_work_is_one_row_for_each_parent_and_one_for_each_transition(name, rows_of_steps):
    """Forward and back: nothing is composed for padding, for SHIFT, or twice."""
    encoder, batch = ENCODERS[name](), batch_of(TREES)
    rows = rows_of_steps(encoder)
    results_and_gradients(encoder, ["root"], encoder, batch)
    assert rows["compose"] == 2 * sum(tree.count(REDUCE) for tree in TREES)
    assert rows["tracker"] == (2 * sum(map(len, TREES)) if name == "given" else 0)


@pytest.mark.parametrize("parse", ["predicted", "sampled"])
def test_a_tracker_that_parses_composes_every_node_once(parse, rows_of_steps):
    """Unless a gradient is wanted, for which the trees are composed again, with the same results."""
    encoder, batch = spinn_encoder(parse), BATCHES["mixed"]
    words, seed = {"words": batch["words"]}, tf.constant([3, 4])
    nodes = int(tf.math.count_nonzero(batch["transitions"]))
    parents = int(tf.math.count_nonzero(batch["transitions"] == REDUCE))
    rows = rows_of_steps(encoder)
    once = encoder(words, seed=seed)
    assert rows == {"compose": parents, "tracker": nodes}
    twice = encoder(words | {"transitions": once["transitions"]}, training=True, seed=seed)
    assert set(once) == set(twice)
    check_same(once, twice)
    assert (
        rows == {"compose": 2 * parents, "tracker": 2 * nodes}
        if parse == "predicted"
        else {
            "compose": 3 * parents,
            "tracker": 3 * nodes,
        }
    )


def test_draws_follow_the_tracker_s_probabilities():
    """Three words leave one choice: SHIFT or REDUCE after the second."""
    encoder = spinn_encoder("sampled")
    trees = 4000
    batch = {"words": tf.constant([[1, 2, 3]] * trees)}
    run = in_a_graph(lambda batch: encoder(batch, seed=tf.constant([5, 6])), names=["words"])
    found = run(batch)
    reduced = found["transitions"][:, 2] == REDUCE
    probability = tf.exp(tf.boolean_mask(found["log_probability"], reduced))[0]
    assert abs(np.mean(reduced) - probability) < 4 * np.sqrt(probability * (1 - probability) / trees)
    again = run(batch)
    np.testing.assert_array_equal(found["transitions"], again["transitions"])


def test_parses_are_drawn_from_the_probabilities_that_are_rewarded():
    """With what is dropped in training: every move taken is the one with the higher logit of those returned."""
    encoder = spinn_encoder("sampled", tracker_units=8, composition_dropout=0.5)
    batch = batch_of([random_tree(np.random.default_rng(9), n) for n in range(10, 30)])
    found = encoder({"words": batch["words"]}, training=True)
    shift, reduce = tf.unstack(found["transition_logits"], axis=2)
    moves = found["transitions"].numpy()
    likelier = np.where(reduce > shift, REDUCE, SHIFT)
    np.testing.assert_array_equal(moves[moves != PAD], likelier[moves != PAD])


def test_draws_in_bfloat16_are_as_fine_as_in_float32():
    """A draw of probability 1/1000 comes about as often as it should."""
    noise = tf.cast(gumbel_noise(tf.constant([1, 2]), 100, 1000, tf.bfloat16), tf.float32).numpy()
    rare = np.mean(noise[..., 0] + np.log(0.001) > noise[..., 1] + np.log(0.999))
    assert 0.0007 < rare < 0.0013  # six standard deviations of 100,000 draws: 0.0006; and the rounding


def test_illegal_moves_have_no_probability_in_float16():
    logits = legal_logits(tf.zeros([1, 3, 2], tf.float16), tf.constant([[SHIFT, PAD, PAD]]))
    np.testing.assert_array_equal(tf.nn.softmax(logits)[0, 0], [1, 0])
    assert np.all(np.isfinite(logits)) and float(log_probability(logits, tf.constant([[SHIFT, PAD, PAD]]))[0]) == 0


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("parse", "seed"), [("given", None), ("predicted", None), ("sampled", None), ("sampled", [1, 2])]
)
def test_no_sentence_needs_a_word(parse, seed, training):
    """Nor need there be sentences, in a graph or without one."""
    encoder, options = spinn_encoder(parse), {"training": training, "seed": seed and tf.constant(seed)}
    names = ["root"] if parse == "given" else ["root", "transition_logits"]

    def run(batch):
        if training:
            return results_and_gradients(encoder, names, lambda batch: encoder(batch, **options), batch)
        return encoder(batch, **options), []

    graph = in_a_graph(run)
    for sentences, words in [(0, 0), (0, 3), (2, 0), (2, 2)]:
        steps = max(2 * words - 1, 0)
        batch = {"words": tf.zeros([sentences, words], tf.int32), "transitions": tf.fill([sentences, steps], PAD)}
        for results, gradients in (run(batch), graph(batch)):
            np.testing.assert_array_equal(results["root"], np.zeros([sentences, UNITS]))
            assert not any(np.any(gradient) for gradient in gradients)


def test_a_parse_from_nowhere_is_an_error():
    with pytest.raises(ValueError, match="'guessed'"):
        SPINN(Vectors(2), 1, 1, parse="guessed")
