"""The flat encoders against their equations in NumPy, and what padding may not change."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.cells import LSTMCell
from tfnmt.layers.embedding import WordVectors
from tfnmt.layers.flat_encoders import BagOfWords, Convolutional, InceptionEncoder, Recurrent
from tfnmt.layers.trees.encoder import TreeLSTMEncoder
from tfnmt.text.brackets import REDUCE, SHIFT

pytestmark = pytest.mark.usefixtures("float64")

WORDS = np.array([[4, 5, 6, 4], [5, 6, 0, 0], [6, 0, 0, 0]], np.int32)
LENGTHS = (4, 2, 1)
KINDS = {
    "bag": BagOfWords,
    "gru": lambda embedding: Recurrent(embedding, 4, "gru", bidirectional=True),
    "lstm": lambda embedding: Recurrent(embedding, 4, "lstm", layers=2),
    "cnn": lambda embedding: Convolutional(embedding, 4, (1, 3, 5)),
    "cnn with maxout": lambda embedding: Convolutional(embedding, 4, (3,), "maxout"),
    "inception": lambda embedding: InceptionEncoder(embedding, 8, layers=2),
}


def made(kind, **options):
    """An encoder whose every trained weight is a random number."""
    encoder = KINDS[kind](WordVectors(7, 3, **options))
    encoder.build(None)
    random = np.random.default_rng(1)
    for weight in encoder.trainable_variables:
        weight.assign(random.normal(size=weight.shape))
    return encoder


def root(encoder, words, training=False):
    return encoder({"words": tf.constant(words)}, training=training)["root"].numpy()


def vectors(encoder):
    """The words' vectors of each sentence."""
    return [encoder.embedding.E.embeddings.numpy()[WORDS[n, :length]] for n, length in enumerate(LENGTHS)]


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing_in_training_either(kind):
    options = {"projection": 5, "batch_normalization": True}
    encoder, other = made(kind, **options), made(kind, **options)
    longer = np.pad(WORDS, [(0, 0), (0, 5)])
    for training in (True, False):
        expected = root(encoder, WORDS, training)
        assert expected.shape == (3, encoder.output_size)
        np.testing.assert_allclose(root(other, longer, training), expected, atol=1e-9)
    for value, expected in zip(other.get_weights(), encoder.get_weights(), strict=True):
        np.testing.assert_allclose(value, expected, atol=1e-12)  # the moving averages among them


def test_bag_of_words_is_a_sum():
    encoder = made("bag")
    np.testing.assert_allclose(root(encoder, WORDS), [x.sum(axis=0) for x in vectors(encoder)], atol=1e-12)


def test_convolution_is_the_largest_of_windows():
    encoder = made("cnn with maxout")
    convolution = encoder.windows[0].convolution
    kernel, bias = convolution.kernel.numpy().reshape(9, 8), convolution.bias.numpy()
    for x, result in zip(vectors(encoder), root(encoder, WORDS), strict=True):
        x = np.pad(x, [(1, 1), (0, 0)])
        windows = np.array([x[i : i + 3].ravel() for i in range(len(x) - 2)])
        pieces = (windows @ kernel + bias).reshape(-1, 4, 2)
        np.testing.assert_allclose(result, pieces.max(axis=(0, 2)), atol=1e-12)


def test_inception_is_its_four_branches():
    """Each window with ReLU; then the largest of each unit over all words."""
    encoder = made("inception")

    def window(layer, x):
        kernel, bias = layer.convolution.kernel.numpy(), layer.convolution.bias.numpy()
        width = len(kernel)
        padded = np.pad(x, [(width // 2, width // 2), (0, 0)])
        sums = [np.einsum("wi,wio->o", padded[i : i + width], kernel) + bias for i in range(len(x))]
        return np.maximum(sums, 0)

    def module(layer, x):
        largest = np.array([x[max(0, i - 1) : i + 2].max(axis=0) for i in range(len(x))])
        reduced = [window(w, window(r, x)) for r, w in zip(layer.reducers, layer.windows, strict=True)]
        return np.concatenate([window(layer.single, x), *reduced, window(layer.pooled, largest)], axis=1)

    first, second = encoder.modules
    for x, result in zip(vectors(encoder), root(encoder, WORDS), strict=True):
        np.testing.assert_allclose(result, module(second, module(first, x)).max(axis=0), atol=1e-12)


def test_both_directions_of_a_recurrence_end_where_they_have_read_all():
    encoder = made("gru")
    forward = root(encoder, WORDS)[:, :4]
    np.testing.assert_allclose(root(encoder, WORDS[1:2, :2])[0, :4], forward[1], atol=1e-12)
    changed_first = WORDS.copy()
    changed_first[0, 0] = 6
    assert np.all(root(encoder, changed_first)[0] != root(encoder, WORDS)[0])


def test_batch_normalisation_has_the_moments_of_the_real_words():
    layer = WordVectors(7, 3, batch_normalization=True)
    layer.build()
    x = np.concatenate([layer.E.embeddings.numpy()[row[row != 0]] for row in WORDS])
    expected = (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + layer.normalization.epsilon)
    result = layer(tf.constant(WORDS), training=True).numpy()
    np.testing.assert_allclose(result[WORDS != 0], expected, atol=1e-6)
    assert np.all(result[WORDS == 0] == 0)
    np.testing.assert_allclose(layer.normalization.moving_mean.numpy(), 0.1 * x.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("layer", ["words", "states"])
def test_dropout_is_for_training_alone(layer):
    def encoder(rate):
        of_words, of_states = (rate, 0.0) if layer == "words" else (0.0, rate)
        made_encoder = Recurrent(WordVectors(7, 3, dropout=of_words), 4, state_dropout=of_states)
        made_encoder.build(None)
        return made_encoder

    dropping, plain = encoder(0.5), encoder(0.0)
    plain.set_weights(dropping.get_weights())
    assert not np.allclose(*(root(dropping, np.tile(WORDS, [5, 1]), training=True) for _ in range(2)))
    np.testing.assert_array_equal(root(dropping, WORDS), root(plain, WORDS))


def test_the_configuration_of_a_recurrence_makes_it_again():
    """None of the options has its default."""
    options = {"cell": "lstm", "layers": 2, "bidirectional": True, "state_dropout": 0.25}
    again = Recurrent.from_config(Recurrent(WordVectors(7, 3), 4, **options).get_config())
    assert (again.embedding.output_size, again.output_size, again.state_dropout.rate) == (3, 2 * 4, 0.25)
    assert [(type(cell), cell.units) for cell in again.cells] == [(LSTMCell, 4)] * 2 * 2


@pytest.mark.parametrize("second", [BagOfWords, lambda embedding, **_: TreeLSTMEncoder(embedding, 3, name="tree")])
def test_encoders_that_share_their_words_are_saved_with_them(second, tmp_path):
    embedding = WordVectors(7, 6)
    inputs = {name: keras.Input([None], dtype="int32", name=name) for name in ("words", "transitions")}
    roots = [encoder(inputs)["root"] for encoder in (Recurrent(embedding, 4), second(embedding))]
    model = keras.Model(inputs, keras.layers.Concatenate()(roots))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    batch = {"words": tf.constant([[4, 5]]), "transitions": tf.constant([[SHIFT, SHIFT, REDUCE]])}
    np.testing.assert_array_equal(again(batch), model(batch))
    assert len(again.weights) == len(model.weights)


def test_a_copy_of_an_encoder_has_words_of_its_own():
    encoder = made("bag")
    again = BagOfWords.from_config(encoder.get_config())
    assert again.embedding is not encoder.embedding and again.embedding.output_size == 3


@pytest.mark.parametrize("make", [BagOfWords, lambda e: Recurrent(e, 4), lambda e: TreeLSTMEncoder(e, 4)])
def test_other_embeddings_are_refused(make):
    with pytest.raises(TypeError, match="embedding is tfnmt.layers.WordVectors, or a layer that .*, not <Embedding"):
        make(keras.layers.Embedding(7, 3))


def test_windows_of_no_width_are_refused():
    with pytest.raises(ValueError, match="widths"):
        Convolutional(WordVectors(10, 6), 4, ())


@pytest.mark.parametrize("wrong", [{"layers": 0}, {"units": 0}])
def test_a_recurrence_without_layers_is_refused(wrong):
    with pytest.raises(ValueError, match="(layers|units)=0: must be a whole number from 1"):
        Recurrent(WordVectors(10, 6), **{"units": 4} | wrong)


def test_frozen_vectors_have_no_gradient():
    layer = WordVectors(7, 3, trained=False, projection=2)
    layer.build()
    assert [variable.name for variable in layer.trainable_variables] == ["kernel", "bias"]


def test_a_size_too_small_for_four_branches_is_refused():
    with pytest.raises(ValueError, match="4 or more, not 3"):
        InceptionEncoder(WordVectors(7, 3), 3)


def test_the_first_branch_of_an_inception_module_makes_what_is_left_over():
    encoder = InceptionEncoder(WordVectors(7, 3), 6)
    encoder.build()
    assert root(encoder, WORDS).shape == (len(WORDS), 6)


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_dropped_by_every_encoder_in_training_alone(kind):
    dropping, plain = made(kind, dropout=0.5), made(kind)
    assert not np.allclose(*(root(dropping, np.tile(WORDS, [5, 1]), training=True) for _ in range(2)))
    np.testing.assert_array_equal(root(dropping, WORDS), root(plain, WORDS))
