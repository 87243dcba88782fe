"""The layers in functional Keras models, which are saved and loaded as .keras files."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt import layers
from tfnmt.layers.registry import ATTENTIONS

RANDOM = np.random.default_rng(1)


def check_round_trip(model, path):
    """The results of a model for arrays of random values or ids, which are those of the model that was loaded."""
    model.save(path / "model.keras")
    loaded = keras.saving.load_model(path / "model.keras")
    arrays = []
    for x in model.inputs:
        shape = [3, *(size or 5 for size in x.shape[1:])]
        arrays.append(RANDOM.integers(0, 6, shape) if x.dtype == "int32" else RANDOM.normal(size=shape))
    results = model(arrays if len(arrays) > 1 else arrays[0])
    again = loaded(arrays if len(arrays) > 1 else arrays[0])
    tf.nest.map_structure(np.testing.assert_array_equal, tf.nest.flatten(again), tf.nest.flatten(results))
    return arrays, results


def ids():
    return keras.Input([None], dtype="int32")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"attention": "none", "cell": "lstm", "layers": 2, "deep_output": False},
        {"attention": "general", "input_feeding": True, "tied_embeddings": True},
    ],
)
def test_encoder_and_decoder(options, tmp_path):
    source, target = ids(), ids()
    encoder = layers.Encoder(7, 3, 4, bidirectional=True)
    logits = layers.Decoder(6, 3, 4, attention_units=5, **options)(target, encoder(source))
    _, results = check_round_trip(keras.Model([source, target], logits), tmp_path)
    assert results.shape == (3, 5, 6)


@pytest.mark.parametrize("kind", sorted(ATTENTIONS.keys() - {"none"}))
def test_attention_has_the_mask_of_its_values(kind, tmp_path):
    query, words = keras.Input([4]), ids()
    values = layers.Embedding(7, 4, mask_zero=True)(words)
    model = keras.Model([query, words], list(ATTENTIONS[kind](3)([query, values])))
    (_, words), (context, weights) = check_round_trip(model, tmp_path)
    assert context.shape == (3, 4)
    np.testing.assert_array_equal(np.asarray(weights) == 0, words == 0)
    np.testing.assert_allclose(np.sum(weights, axis=1), 1, rtol=1e-5)


def test_attention_without_a_mask_sees_all():
    z, h = tf.ones([2, 3]), tf.ones([2, 5, 3])
    context, weights = layers.DotAttention()([z, h])
    np.testing.assert_allclose(weights, np.full([2, 5], 0.2), rtol=1e-6)
    np.testing.assert_allclose(context, np.ones([2, 3]), rtol=1e-6)
    _, weights = layers.DotAttention()([z, h], mask=tf.constant([[True, False, False, False, True]] * 2))
    np.testing.assert_allclose(weights, [[0.5, 0, 0, 0, 0.5]] * 2, rtol=1e-6)


ENCODERS = {
    "bag": layers.BagOfWords,
    "recurrent": lambda embedding: layers.Recurrent(embedding, 4, "lstm", layers=2, bidirectional=True),
    "convolutional": lambda embedding: layers.Convolutional(embedding, 4, (1, 3), "maxout"),
    "inception": lambda embedding: layers.InceptionEncoder(embedding, 8, layers=2),
    "inception with maxout": lambda embedding: layers.InceptionEncoder(embedding, 8, activation="maxout"),
}


@pytest.mark.parametrize("kind", ENCODERS)
def test_flat_encoders(kind, tmp_path):
    words = ids()
    embedding = layers.WordVectors(7, 3, projection=4, batch_normalization=True)
    root = ENCODERS[kind](embedding)({"words": words})["root"]
    classes = layers.MultilayerPerceptron(3, 5, activation="maxout", batch_normalization=True)(root)
    check_round_trip(keras.Model(words, classes), tmp_path)


def test_an_embedding_keeps_what_holds_its_vectors(tmp_path):
    words = ids()
    embedding = layers.Embedding(
        7, 4, trainable=False, embeddings_regularizer="l2", embeddings_constraint="non_neg", name="E"
    )
    model = keras.Model(words, embedding(words))
    check_round_trip(model, tmp_path)
    again = keras.saving.load_model(tmp_path / "model.keras").get_layer("E")
    assert isinstance(again.embeddings_regularizer, keras.regularizers.L2)
    assert isinstance(again.embeddings_constraint, keras.constraints.NonNeg) and not again.trainable


def test_pair_attention(tmp_path):
    words = ids()
    nodes = layers.BagOfWords(layers.WordVectors(7, 3))({"words": words})["nodes"]
    compared = layers.PairAttention(4)(nodes, keras.ops.not_equal(words, 0))
    check_round_trip(keras.Model(words, compared), tmp_path)


def test_deep_output(tmp_path):
    z, u, c = (keras.Input([None, size]) for size in (2, 3, 4))
    check_round_trip(keras.Model([z, u, c], layers.DeepOutput(3)(z, u, c)), tmp_path)


def test_public_names():
    assert all(issubclass(getattr(layers, name), keras.layers.Layer) for name in layers.__all__)
    with pytest.raises(AttributeError, match="'tfnmt.layers' has no attribute 'Rnn'"):
        layers.Rnn  # noqa: B018
