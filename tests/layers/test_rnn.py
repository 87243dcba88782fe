"""`RNN(cell)` is `keras.layers.RNN(cell)`: outputs, states, gradients, masks, directions, and in Keras models."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers import RNN, GRUCell, LSTMCell

RANDOM = np.random.default_rng(1)


def made(kind, units, input_size, **options):
    """A cell whose every weight is a random number."""
    cell = kind(units, **options)
    cell.build((None, input_size))
    for weight in cell.trainable_variables:
        weight.assign(RANDOM.normal(size=weight.shape, scale=0.5))
    return cell


def random(*shape):
    return tf.constant(RANDOM.normal(size=shape), tf.float32)


def masks(batch, time):
    """None, padding behind, padding in front, and anything."""
    lengths = RANDOM.integers(0, time + 1, [batch, 1])
    lengths[0] = time
    behind = np.arange(time) < lengths
    return {"none": None, "behind": behind, "front": behind[:, ::-1], "any": RANDOM.random([batch, time]) < 0.6}


def results_and_gradients(layer, cell, s, states, mask):
    """All results of a layer, and the gradients of a sum of them by inputs, states and weights."""
    sources = [s, *(states or []), *(weight.value for weight in cell.trainable_variables)]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        results = tf.nest.flatten(layer(s, initial_state=states, mask=mask))
        loss = tf.add_n([tf.reduce_sum(tf.sin(x + i)) for i, x in enumerate(results)])
    return results, tape.gradient(loss, sources, unconnected_gradients=tf.UnconnectedGradients.ZERO)


def check_equal(cell, s, states, mask, **options):
    mask = None if mask is None else tf.constant(mask)
    found = results_and_gradients(RNN(cell, **options), cell, s, states, mask)
    expected = results_and_gradients(keras.layers.RNN(cell, **options), cell, s, states, mask)
    for x, y in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(x, y, atol=1e-6)
    for x, y in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(x, y, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("mask", ["none", "behind", "front", "any"])
@pytest.mark.parametrize(("kind", "options"), [(GRUCell, {}), (LSTMCell, {"layer_normalization": True})])
def test_equals_keras(kind, options, mask, go_backwards):
    batch, time, input_size, units = 3, 9, 2, 4
    cell, s = made(kind, units, input_size, **options), random(batch, time, input_size)
    states = [random(batch, units) for _ in range(cell.number_of_states)]
    for return_sequences, given in itertools.product((False, True), (None, states)):
        check_equal(
            cell,
            s,
            given,
            masks(batch, time)[mask],
            return_sequences=return_sequences,
            return_state=True,
            go_backwards=go_backwards,
        )


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (1, 8, 3, 2), (5, 3, 1, 7), (2, 23, 4, 3)])
def test_equals_keras_at_all_sizes(sizes):
    batch, time, input_size, units = sizes
    for kind, (name, mask) in itertools.product((GRUCell, LSTMCell), masks(batch, time).items()):
        cell = made(kind, units, input_size)
        check_equal(cell, random(batch, time, input_size), None, mask, return_sequences=name != "any")


@pytest.mark.parametrize("time", [1, 7, 30])
def test_a_graph_for_any_shape_equals_eager_mode(time):
    cell = made(LSTMCell, 3, 2)
    s, mask = random(4, time, 2), tf.constant(masks(4, time)["behind"])

    def run(s, mask):
        return results_and_gradients(RNN(cell, return_sequences=True), cell, s, None, mask)

    signature = [tf.TensorSpec([None, None, 2]), tf.TensorSpec([None, None], tf.bool)]
    found = tf.function(run, input_signature=signature, autograph=False)(s, mask)
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), found, run(s, mask))


def test_weights_are_those_of_the_cell_and_may_be_frozen():
    cell = GRUCell(3)
    layer = RNN(cell, return_state=True)
    h, state = layer(random(2, 5, 4))
    np.testing.assert_array_equal(h, state)
    assert [weight.path for weight in layer.trainable_variables] == [weight.path for weight in cell.trainable_variables]
    layer.trainable = False
    assert layer.trainable_variables == []


def test_other_cells_are_an_error():
    with pytest.raises(TypeError, match="GRUCell or LSTMCell"):
        RNN(keras.layers.GRUCell(3))


@pytest.mark.parametrize(
    ("shapes", "complaint"),
    [
        ({"s": [3, 5]}, r"sequences have the shape \(3, 5\): \[batch, time, input_size\] is needed"),
        ({"s": [3, 9, 5]}, "expected axis -1 of input shape to have value 2"),
        ({"mask": [3, 8]}, r"the mask has the shape \(3, 8\), the sequences \(3, 9, 2\): both begin alike"),
        ({"mask": [1, 9]}, r"the mask has the shape \(1, 9\)"),
        ({"states": [[3, 4]]}, "initial_state has 1 tensors: the cell has 2"),
        ({"states": [[3, 4], [3, 5]]}, r"a state has the shape \(3, 5\): \(3, 4\) is needed"),
        ({"states": [[3, 4], [1, 4]]}, r"a state has the shape \(1, 4\)"),
    ],
)
def test_shapes_that_do_not_go_together_are_errors(shapes, complaint):
    layer = RNN(LSTMCell(4))
    if "s" not in shapes or len(shapes["s"]) == 3:
        layer(random(3, 9, 2))
    states = [random(*shape) for shape in shapes["states"]] if "states" in shapes else None
    mask = tf.fill(shapes["mask"], True) if "mask" in shapes else None
    with pytest.raises(ValueError, match=complaint):
        layer(random(*shapes.get("s", [3, 9, 2])), initial_state=states, mask=mask)


def test_state_dropout_is_for_training_alone():
    cell, s = made(GRUCell, 8, 2), random(3, 9, 2)
    layer = RNN(cell, state_dropout=0.5)
    np.testing.assert_allclose(layer(s), RNN(cell)(s), atol=1e-6)
    assert not np.allclose(layer(s, training=True), layer(s, training=True))


@pytest.mark.parametrize("kind", [GRUCell, LSTMCell])
def test_mixed_precision_computes_in_half_precision(kind):
    cell = kind(4, dtype="mixed_bfloat16")
    h = RNN(cell, return_sequences=True, dtype="mixed_bfloat16")(random(2, 9, 3))
    assert h.dtype == tf.bfloat16 and all(weight.dtype == "float32" for weight in cell.trainable_variables)
    h = keras.layers.RNN(cell, return_sequences=True, dtype="mixed_bfloat16")(random(2, 9, 3))
    assert h.dtype == tf.bfloat16


def functional_model(rnn):
    """Words to one class, with padding masked by Keras."""
    ids = keras.Input([None], dtype="int32")
    s = keras.layers.Embedding(10, 4, mask_zero=True)(ids)
    h = rnn(GRUCell(5), return_sequences=True)(s)
    backwards = rnn(GRUCell(5), return_sequences=True, go_backwards=True)(h)
    last = rnn(LSTMCell(3))(h)
    return keras.Model(ids, [keras.layers.Dense(2)(last), h, backwards])


def test_masks_of_a_functional_model_are_those_of_keras():
    ours, theirs = functional_model(RNN), functional_model(keras.layers.RNN)
    theirs.set_weights(ours.get_weights())
    ids = np.array([[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 0, 0, 0, 0, 0]])
    for x, y in zip(ours(ids), theirs(ids), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rnn", [RNN, keras.layers.RNN])
def test_a_functional_model_trains_and_is_saved_and_loaded(rnn, tmp_path):
    keras.utils.set_random_seed(1)
    ids = keras.Input([8], dtype="int32")
    h = rnn(LSTMCell(4), return_sequences=True, name="lower")(keras.layers.Embedding(10, 4, mask_zero=True)(ids))
    model = keras.Model(ids, keras.layers.Dense(1)(rnn(GRUCell(4, layer_normalization=True))(h)))
    model.compile("adam", "mse")
    x = np.random.default_rng(1).integers(0, 10, [8, 8])
    # More than one step: before a sequence's first word all is 0, of which normalization makes anything at first.
    losses = model.fit(x, x[:, :1] / 10.0, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(x), model(x))


def test_one_direction_each_of_a_bidirectional_layer():
    """Keras's wrapper takes our layer as it takes its own."""
    s = random(2, 9, 3)
    layer = keras.layers.Bidirectional(RNN(GRUCell(4), return_sequences=True))
    h = layer(s)
    forward, backward = layer.forward_layer(s), tf.reverse(layer.backward_layer(s), [1])
    np.testing.assert_allclose(h, tf.concat([forward, backward], axis=-1), atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"return_sequences": True}, {"return_state": True}])
def test_wrappers_in_a_functional_model_take_it_as_they_take_kerass(options):
    inputs = keras.Input((None, 3))
    outputs = [keras.layers.Bidirectional(rnn(LSTMCell(4), **options))(inputs) for rnn in (RNN, keras.layers.RNN)]
    ours, theirs = (tf.nest.map_structure(lambda x: tuple(x.shape), each) for each in outputs)
    assert tf.nest.flatten(ours) == tf.nest.flatten(theirs)
    if "return_state" not in options:
        several = keras.Input((6, 5, 3))
        ours, theirs = (
            keras.layers.TimeDistributed(rnn(GRUCell(4), **options))(several) for rnn in (RNN, keras.layers.RNN)
        )
        assert ours.shape == theirs.shape


def test_its_configuration_makes_it_again():
    """None of the options has its default."""
    options = {"return_sequences": True, "return_state": True, "go_backwards": True}
    layer = RNN(GRUCell(3), state_dropout=0.25, **options)
    again = RNN.from_config(layer.get_config())
    assert isinstance(again.cell, GRUCell) and again.cell.units == 3
    assert {name: getattr(again, name) for name in options} == options
    assert again.state_dropout.rate == 0.25


def test_each_sequence_has_a_state_dropout_mask_of_its_own():
    layer = RNN(made(GRUCell, 16, 2), state_dropout=0.5)
    h = layer(tf.repeat(random(1, 9, 2), 4, axis=0), training=True)
    assert len(np.unique(h, axis=0)) == 4


def test_the_mask_of_a_sequence_read_backwards_is_in_the_order_in_which_it_was_read():
    """So a layer above skips the padding, which comes first there."""
    ids = keras.Input([None], dtype="int32")
    s = keras.layers.Embedding(10, 4, mask_zero=True)(ids)
    h = RNN(GRUCell(5), return_sequences=True, go_backwards=True)(s)
    model = keras.Model(ids, RNN(GRUCell(3))(h))
    padded, alone = model(np.array([[3, 1, 4, 0, 0]])), model(np.array([[3, 1, 4]]))
    np.testing.assert_allclose(padded, alone, atol=1e-6)
