"""Leaves that have read the sentence: each sentence alone by Keras's own loop, and the encoders beside their twins."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.layers.trees.test_spinn import UNITS, check_same, in_a_graph, results_and_gradients
from tests.layers.trees.tree_batches import Vectors, batch_of, padded, shapes_of_trees, with_random_weights
from tfnmt.define_by_run import recursive, spinn
from tfnmt.layers.embedding import WordVectors
from tfnmt.layers.registry import CELLS
from tfnmt.layers.trees.encoder import TreeLSTMEncoder
from tfnmt.layers.trees.spinn import SPINN

BATCHES = shapes_of_trees()
pytestmark = pytest.mark.usefixtures("doubles")


def encoder_with(leaf_rnn, vector_size=5, composition="tree-lstm"):
    return with_random_weights(TreeLSTMEncoder(Vectors(vector_size), UNITS, composition, leaf_rnn=leaf_rnn))


@pytest.mark.parametrize("leaf_rnn", ["gru", "lstm"])
def test_leaves_are_the_states_of_both_directions_side_by_side(leaf_rnn):
    encoder = encoder_with(leaf_rnn)
    assert encoder.projection is None  # h and c of a word are as many as both directions have
    forward, backward = encoder.reader.forward_layer.cell, encoder.reader.backward_layer.cell
    batch = BATCHES["mixed"]
    expected = []
    for words in batch["words"].numpy():
        x = encoder.embedding(words[words != 0])[tf.newaxis]
        h = keras.layers.RNN(_copy(forward), return_sequences=True)(x)[0]
        h_backward = keras.layers.RNN(_copy(backward), return_sequences=True)(x[:, ::-1])[0][::-1]
        expected.append((h, h_backward))
    found = encoder.leaves(batch["words"])
    check_same(found, tuple(tf.concat(directions, axis=0) for directions in zip(*expected, strict=True)))


def _copy(cell):
    """Another cell of the same weights, which nothing but Keras's loop has seen."""
    copy = CELLS["gru" if cell.number_of_states == 1 else "lstm"](cell.units)
    copy.build((None, 5))
    copy.set_weights(cell.get_weights())
    return copy


def test_a_sentence_does_not_depend_on_its_batch():
    encoder = encoder_with("gru")
    batch = BATCHES["mixed"]
    root = encoder(batch)["root"]
    for i, transitions in enumerate(batch["transitions"].numpy()):
        words = batch["words"].numpy()[i]
        alone = {"words": words[words != 0][np.newaxis], "transitions": padded([transitions[transitions != 0]])}
        check_same(encoder(tf.nest.map_structure(tf.constant, alone))["root"][0], root[i])


def test_order_matters_to_leaves():
    encoder = encoder_with("gru")
    there, back = (encoder.leaves(tf.constant([words]))[0] for words in ([3, 5, 7], [7, 5, 3]))
    assert not np.allclose(there[1], back[1])
    alone = TreeLSTMEncoder(encoder.embedding, UNITS)
    alone.build()
    there, back = (alone.leaves(tf.constant([words]))[0] for words in ([3, 5, 7], [7, 5, 3]))
    np.testing.assert_array_equal(there[1], back[1])


@pytest.mark.parametrize(("leaf_rnn", "composition"), [("gru", "tree-lstm"), ("lstm", "tree-lstm"), ("gru", "grc")])
def test_given_trees_are_plain_recursion(leaf_rnn, composition):
    encoder = encoder_with(leaf_rnn, composition=composition)
    run = in_a_graph(lambda batch: results_and_gradients(encoder, ["root"], encoder, batch))
    for batch in BATCHES.values():
        twin = results_and_gradients(encoder, ["root"], lambda batch: recursive.encode(encoder, batch), batch)
        check_same(run(batch), twin)
        assert all(np.any(gradient) for gradient in twin[1][:1])  # of the words' vectors, through the recurrence
    assert run.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("parse", ["given", "predicted"])
def test_a_tracker_reads_such_leaves(parse):
    encoder = with_random_weights(SPINN(Vectors(5), UNITS, 2, parse, leaf_rnn="gru"))
    run = in_a_graph(lambda batch: encoder(batch))
    for batch in BATCHES.values():
        check_same(run(batch)["root"], spinn.encode(encoder, batch)["root"])


def test_leaves_are_dropped_out_in_training_alone():
    encoder = with_random_weights(TreeLSTMEncoder(Vectors(5), UNITS, leaf_rnn="gru", leaf_dropout=0.5))
    words = batch_of([[1]] * 200)["words"]
    whole, dropped = (tf.concat(encoder.leaves(words, training), axis=1).numpy() for training in (False, True))
    assert np.all(whole != 0) and 0.4 < np.mean(dropped == 0) < 0.6
    np.testing.assert_allclose(dropped[dropped != 0], 2 * whole[dropped != 0])


def test_saved_and_loaded(tmp_path):
    keras.config.set_dtype_policy("float32")
    encoder = TreeLSTMEncoder(WordVectors(11, 5), UNITS, leaf_rnn="lstm", leaf_dropout=0.25)
    batch = {name: keras.Input([None], dtype="int32", name=name) for name in ("words", "transitions")}
    model = keras.Model(batch, encoder(batch)["root"])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(BATCHES["mixed"]), model(BATCHES["mixed"]), rtol=1e-6)
    assert loaded.get_layer(encoder.name).get_config()["leaf_dropout"] == 0.25
