"""The encoder against its equations in NumPy; what padding, other rows and dropout may and may not change."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.decoder import Decoder
from tfnmt.layers.embedding import Embedding, variational_dropout, whole_word_dropout
from tfnmt.layers.encoder import Encoder

pytestmark = pytest.mark.usefixtures("float64")

IDS = np.array([[5, 4, 6, 7, 3], [7, 5, 3, 0, 0], [3, 0, 0, 0, 0]], np.int32)
LENGTHS = (5, 3, 1)
VOCABULARY, EMBEDDING, UNITS = 8, 3, 4


def made(**options):
    """An encoder whose every weight, biases too, is a random number."""
    encoder = Encoder(VOCABULARY, EMBEDDING, UNITS, **options)
    encoder.build(None)
    random = np.random.default_rng(1)
    for weight in encoder.trainable_variables:
        weight.assign(random.normal(size=weight.shape))
    return encoder


def read(encoder, ids, **options):
    return {name: x.numpy() for name, x in encoder(tf.constant(ids), **options).items()}


def gru(cell, sequence):
    """h_1 … h_T of one sequence of vectors, by the equations of `GRUCell`."""
    W, U, b = (np.split(weight.numpy(), 3, axis=-1) for weight in (cell.W, cell.U, cell.b))
    h, all_h = np.zeros(UNITS), []
    for s in sequence:
        r, u = (1 / (1 + np.exp(-(s @ W[k] + h @ U[k] + b[k]))) for k in (0, 1))
        h = u * h + (1 - u) * np.tanh(s @ W[2] + r * (h @ U[2]) + b[2])
        all_h.append(h)
    return np.array(all_h)


def both_ways(cells, sequence):
    forward, backward = gru(cells[0], sequence), gru(cells[1], sequence[::-1])[::-1]
    return np.concatenate([forward, backward], axis=1), np.concatenate([forward[-1], backward[0]])


@pytest.mark.parametrize("options", [{"units": 0}, {"layers": 0}])
def test_no_layers_or_units(options):
    with pytest.raises(ValueError, match="(layers|units)=0: must be a whole number from 1"):
        Encoder(VOCABULARY, EMBEDDING, **{"units": UNITS} | options)


def test_one_direction_is_the_equations():
    encoder = made()
    encoded = read(encoder, IDS)
    np.testing.assert_array_equal(encoded["mask"], IDS != 0)
    for n, length in enumerate(LENGTHS):
        s = encoder.E.embeddings.numpy()[IDS[n, :length]]
        h = gru(encoder.cells[0], s)
        np.testing.assert_allclose(encoded["states"][n, :length], h, atol=1e-12)
        np.testing.assert_allclose(encoded["summary"][n], h[-1], atol=1e-12)


@pytest.mark.parametrize("residual", [False, True])
def test_two_layers_in_both_directions_are_the_equations(residual):
    encoder = made(layers=2, bidirectional=True, residual=residual)
    encoded = read(encoder, IDS)
    for n, length in enumerate(LENGTHS):
        below, _ = both_ways(encoder.cells[:2], encoder.E.embeddings.numpy()[IDS[n, :length]])
        h, summary = both_ways(encoder.cells[2:], below)
        np.testing.assert_allclose(encoded["states"][n, :length], h + below if residual else h, atol=1e-12)
        np.testing.assert_allclose(encoded["summary"][n], summary, atol=1e-12)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_padding_and_other_rows_change_nothing(cell):
    encoder = made(cell=cell, layers=2, bidirectional=True, layer_normalization=True)
    together = read(encoder, IDS)
    padded = read(encoder, np.pad(IDS, [(0, 0), (0, 3)]))
    turned = read(encoder, IDS[::-1])
    for n, length in enumerate(LENGTHS):
        alone = read(encoder, IDS[n : n + 1, :length])
        for other, row in ((padded, n), (turned, len(IDS) - 1 - n), (alone, 0)):
            h = together["states"][n, :length]
            np.testing.assert_allclose(other["states"][row, :length], h, atol=1e-12)
            np.testing.assert_allclose(other["summary"][row], together["summary"][n], atol=1e-12)


def test_gradient_of_the_embedding_is_that_of_a_look_up():
    embedding = Embedding(VOCABULARY, EMBEDDING)
    embedding.build(None)
    E = embedding.embeddings.value
    weights = np.random.default_rng(1).normal(size=[*IDS.shape, EMBEDDING])
    with tf.GradientTape(persistent=True) as tape:
        ours = tf.reduce_sum(embedding(tf.constant(IDS)) * weights)
        plain = tf.reduce_sum(tf.gather(E, IDS) * weights)
    gradient = tape.gradient(ours, E)
    assert isinstance(gradient, tf.Tensor)
    np.testing.assert_allclose(gradient, tf.convert_to_tensor(tape.gradient(plain, E)), atol=1e-12)


def test_embeddings_start_with_length_one():
    embedding = Embedding(1000, 64)
    embedding.build(None)
    np.testing.assert_allclose(np.mean(np.sum(embedding.embeddings.numpy() ** 2, axis=1)), 1, rtol=0.05)


def test_variational_dropout_has_one_mask_for_all_times():
    dropped = variational_dropout(0.5, "float32")(tf.ones([6, 40, 10]), training=True).numpy()
    assert set(np.unique(dropped)) == {0.0, 2.0}
    np.testing.assert_array_equal(dropped, np.broadcast_to(dropped[:1], dropped.shape))
    assert not np.array_equal(dropped[0, 0], dropped[0, 1])


def test_whole_word_dropout_has_a_mask_for_each_word_and_all_its_units():
    dropped = whole_word_dropout(0.5, "float32")(tf.ones([6, 40, 10]), training=True).numpy()
    assert set(np.unique(dropped)) == {0.0, 2.0}
    np.testing.assert_array_equal(dropped, np.broadcast_to(dropped[:, :, :1], dropped.shape))
    assert not np.array_equal(dropped[0], dropped[1]) and not np.array_equal(dropped[:, 0], dropped[:, 1])


def test_state_dropout_has_one_mask_for_all_times_and_another_for_each_direction():
    """With u = 0, r = 1 and no input, h_t = tanh(b + m ⊙ h_{t−1}): where the mask m is 0, h_t is tanh(b) always."""
    encoder = made(bidirectional=True, state_dropout=0.5)
    for cell in encoder.cells:
        cell.W.assign(tf.zeros_like(cell.W))
        cell.U.assign(np.hstack([np.zeros([UNITS, 2 * UNITS]), np.eye(UNITS)]))
        cell.b.assign(np.repeat([100.0, -100.0, 0.5], UNITS))
    h = read(encoder, np.full([10, 4], 5, np.int32), training=True)["states"]
    forward, backward = h[:, :, :UNITS], h[:, ::-1, UNITS:]
    dropped = []
    for states in (forward, backward):
        after_first = states[:, 1:]
        dropped.append(np.isclose(after_first, np.tanh(0.5)))
        np.testing.assert_allclose(after_first[:, 0][~dropped[-1][:, 0]], np.tanh(0.5 + 2 * np.tanh(0.5)))
        np.testing.assert_array_equal(dropped[-1], np.repeat(dropped[-1][:, :1], 3, axis=1))
        assert set(np.unique(dropped[-1])) == {False, True}
    assert not np.array_equal(*dropped)


@pytest.mark.parametrize(
    ("name", "noise_shape"),
    [
        ("word_dropout", (None, None, 1)),  # one for all units of a word
        ("embedding_dropout", (1, None, None)),  # one for all times
        ("output_dropout", (1, None, None)),
    ],
)
@pytest.mark.parametrize("layer", [Encoder, Decoder])
def test_each_dropout_has_its_own_kind_of_mask(layer, name, noise_shape):
    """Of numbers [length, batch, size]."""
    assert getattr(layer(9, 3, 4, **{name: 0.5}), name).noise_shape == noise_shape


@pytest.mark.parametrize(
    ("option", "result"),
    [
        ("word_dropout", "states"),
        ("embedding_dropout", "states"),
        ("state_dropout", "states"),
        ("output_dropout", "states"),
        ("summary_dropout", "summary"),
    ],
)
def test_dropout_is_for_training_alone(option, result):
    encoder, plain, ids = made(**{option: 0.5}), made(), np.tile(IDS, [10, 1])
    once, again = (read(encoder, ids, training=True)[result] for _ in range(2))
    assert not np.allclose(once, again)
    np.testing.assert_array_equal(read(encoder, ids)[result], read(plain, ids)[result])
