"""The layers of trees as Keras users know layers: called, in a functional model, in Keras's RNN, saved and loaded."""

import contextlib
import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.layers.trees.tree_batches import VOCABULARY, batch_of, random_tree
from tfnmt.layers.embedding import WordVectors
from tfnmt.layers.invariants import invariants_for_one_step
from tfnmt.layers.trees.encoder import TreeLSTMEncoder
from tfnmt.layers.trees.spinn import SPINN
from tfnmt.layers.trees.tracker import Tracker
from tfnmt.layers.trees.tree_lstm import TreeLSTM

UNITS, TRACKER_UNITS = 4, 3
RANDOM = np.random.default_rng(1)


def drawn(*shape):
    return tf.constant(RANDOM.normal(size=shape), tf.float32)


def saved_and_loaded(model, path):
    model.save(path / "model.keras")
    return keras.saving.load_model(path / "model.keras")


def check_same(found, expected):
    """Tensors in lists, tuples or dictionaries."""
    for x, y in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_a_tree_lstm_in_a_functional_model(tmp_path):
    h, c = (keras.Input([2, UNITS]) for _ in range(2))
    tracking = keras.Input([TRACKER_UNITS])
    layer = TreeLSTM(UNITS, TRACKER_UNITS)
    model = keras.Model([h, c, tracking], layer([h, c], tracking=tracking))
    inputs = [drawn(5, 2, UNITS), drawn(5, 2, UNITS), drawn(5, TRACKER_UNITS)]
    found = model(inputs)
    invariants = invariants_for_one_step(layer.loop_weights(), layer.loop_constants())
    check_same(found, layer.step(*inputs[:2], invariants, inputs[2]))
    assert [tuple(output.shape) for output in model.outputs] == [(None, UNITS)] * 2
    check_same(saved_and_loaded(model, tmp_path)(inputs), found)


def test_children_of_another_size_are_refused():
    with pytest.raises(ValueError, match="children of units=4 have size 4, not 5"):
        TreeLSTM(UNITS)([drawn(1, 2, 5), drawn(1, 2, 5)])


def test_a_tracker_is_a_cell_of_keras_rnn(tmp_path):
    tracker = Tracker(TRACKER_UNITS, predicts=True)
    reads = keras.Input([None, 3, UNITS])
    outputs, h, c = keras.layers.RNN(tracker, return_sequences=True, return_state=True)(reads)
    model = keras.Model(reads, [outputs, h, c])
    inputs = drawn(2, 6, 3, UNITS)
    states = tracker.get_initial_state(2)
    for step in range(6):
        output, states = tracker(inputs[:, step], states)
        check_same(model(inputs)[0][:, step], output)
    check_same(model(inputs)[1:], states)
    check_same(saved_and_loaded(model, tmp_path)(inputs), model(inputs))


ENCODERS = {
    "TreeLSTMEncoder": lambda embedding: TreeLSTMEncoder(embedding, UNITS),
    **{
        f"SPINN, {parse}": lambda embedding, parse=parse: SPINN(embedding, UNITS, TRACKER_UNITS, parse)
        for parse in ("given", "predicted", "sampled")
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_in_a_functional_model(name, tmp_path):
    """It learns by `fit`, and is the same after it was saved and loaded."""
    keras.utils.set_random_seed(1)
    encoder = ENCODERS[name](WordVectors(VOCABULARY, 5))
    symbols = {key: keras.Input([None], dtype="int32", name=key) for key in ("words", "transitions")}
    model = keras.Model(symbols, keras.layers.Dense(1)(encoder(symbols)["root"]))
    assert encoder.output_size == UNITS
    batch = batch_of([random_tree(np.random.default_rng(2), words) for words in (3, 6, 1, 4)])
    model.compile(keras.optimizers.Adam(0.05), "mse", run_eagerly=False)
    labels = tf.constant([[1.0], [-1.0], [0.5], [2.0]])
    # This loss does not train the prediction of transitions.
    untrained = name in ("SPINN, predicted", "SPINN, sampled")
    with (
        pytest.warns(UserWarning, match="Gradients do not exist for variables .*/W_p")
        if untrained
        else contextlib.nullcontext()
    ):
        losses = model.fit(batch, labels, epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    check_same(saved_and_loaded(model, tmp_path)(batch), model(batch))


def test_given_parses_must_be_there():
    encoder = TreeLSTMEncoder(WordVectors(VOCABULARY, 2 * UNITS), UNITS)
    with pytest.raises(ValueError, match=r"this encoder needs parses: the inputs are \['words'\]"):
        encoder({"words": tf.constant([[1, 2]])})


@pytest.mark.parametrize("in_a_graph", [False, True])
@pytest.mark.parametrize(
    "transitions",
    [
        [[1, 1, 2, 0, 0], [1, 1, 2, 0, 0]],
        [[1, 1, 2, 1, 2], [1, 0, 0, 0, 0]],
        [[1, 1, 2, 1, 2], [1, 1, 2, 1, 2]],
        [[1, 1, 2, 1, 2], [1, 1, 0, 0, 0]],
        [[1, 1, 2, 1, 2], [1, 2, 1, 0, 0]],
        [[1, 1, 2, 1, 2], [1, 1, 3, 0, 0]],
    ],
    ids=["fewer words", "one of two words", "more words", "two trees", "nothing to reduce", "no transition"],
)
def test_parses_that_are_no_trees_of_the_words_are_refused(transitions, in_a_graph):
    """Without a check the words of one sentence would become a part of the next."""
    encoder = TreeLSTMEncoder(WordVectors(VOCABULARY, 2 * UNITS), UNITS)
    call = tf.function(encoder) if in_a_graph else encoder
    words = [[1, 2, 3], [4, 5, 0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="each row of transitions must be one tree"):
        call({"words": tf.constant(words), "transitions": tf.constant(transitions)})


def again(layer):
    """The layer that its configuration makes."""
    return type(layer).from_config(layer.get_config())


def test_a_layer_again_from_its_configuration():
    """None of the options has its default."""
    composition = again(TreeLSTM(UNITS, TRACKER_UNITS))
    assert (composition.units, composition.tracker_units) == (UNITS, TRACKER_UNITS)
    tracker = again(Tracker(TRACKER_UNITS, predicts=True))
    assert (tracker.units, tracker.predicts) == (TRACKER_UNITS, True)
    options = {"composition": "grc", "composition_dropout": 0.25, "leaf_rnn": "lstm", "leaf_dropout": 0.5}
    embedding = WordVectors(VOCABULARY, 5)
    spinn = again(SPINN(embedding, UNITS, TRACKER_UNITS, "sampled", tracked_composition=False, **options))
    assert (spinn.embedding.output_size, spinn.units, spinn.tracker.units) == (5, UNITS, TRACKER_UNITS)
    assert spinn.parse == "sampled" and spinn.tracked_composition is False
    assert (spinn.composition, spinn.composition_dropout.rate) == ("grc", 0.25)
    assert (spinn.leaf_rnn, spinn.leaf_dropout.rate) == ("lstm", 0.5)


@pytest.mark.parametrize("new_encoder", [TreeLSTMEncoder, functools.partial(SPINN, tracker_units=TRACKER_UNITS)])
def test_a_model_with_trees_is_exported_without_the_gradient_of_its_loop(new_encoder, tmp_path):
    """As docs/python.md says."""
    inputs = {name: keras.Input([None], dtype="int32", name=name) for name in ("words", "transitions")}
    model = keras.Model(inputs, new_encoder(WordVectors(VOCABULARY, 6), UNITS)(inputs)["root"])
    ids = tf.TensorSpec([None, None], tf.int32)
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("serve", model.call, input_signature=[dict.fromkeys(inputs, ids)])
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    archive.write_out(tmp_path / "exported", options=options, verbose=False)
    batch = batch_of([random_tree(RANDOM, words) for words in (3, 5)])
    exported = tf.saved_model.load(tmp_path / "exported")
    np.testing.assert_allclose(exported.serve(batch), model(batch), atol=1e-6)


def test_keras_does_not_compile_tree_encoders():
    """XLA cannot write rows in place. Keras compiles a model on a GPU by itself if all its layers say that they can."""
    assert not TreeLSTMEncoder(WordVectors(VOCABULARY, 6), UNITS).supports_jit


@pytest.mark.parametrize("option", [{"composition": "treelstm"}, {"leaf_rnn": "lstmm"}])
def test_a_name_that_there_is_none_of_is_told(option):
    ((key, name),) = option.items()
    with pytest.raises(ValueError, match=f"{key}='{name}': one of "):
        TreeLSTMEncoder(WordVectors(VOCABULARY, 6), UNITS, **option)
