"""A layer's `dtype` is that of all layers that it is made of, and not the global one."""

import keras
import pytest
import tensorflow as tf

from tests.layers.trees.tree_batches import VOCABULARY, batch_of, left_branching, right_branching
from tfnmt import layers
from tfnmt.layers.trees.word_spinn import WordSPINN

IDS = tf.constant([[5, 7, 2, 0], [8, 3, 9, 6]])
TREES = batch_of([left_branching(4), right_branching(3)])


def vectors(dtype):
    return layers.WordVectors(VOCABULARY, 6, projection=5, batch_normalization=True, dropout=0.1, dtype=dtype)


def recurrent(dtype, floats):
    rnn = layers.RNN(layers.LSTMCell(3, dtype=dtype), state_dropout=0.1, dtype=dtype)
    return rnn, rnn(floats([2, 4, 3]), training=True)


def translator(dtype, floats):
    dropouts = {"word_dropout": 0.1, "embedding_dropout": 0.1, "state_dropout": 0.1, "output_dropout": 0.1}
    encoder = layers.Encoder(10, 4, 3, bidirectional=True, summary_dropout=0.1, dtype=dtype, **dropouts)
    decoder = layers.Decoder(10, 4, 3, layers=2, layer_normalization=True, dtype=dtype, **dropouts)
    both = keras.Sequential([encoder, decoder])  # for the weights
    return both, decoder(IDS, encoder(IDS, training=True), training=True)


def encoder_of(new_encoder, inputs):
    def encode(dtype, floats):
        encoder = new_encoder(vectors(dtype), dtype=dtype)
        return encoder, encoder(inputs, training=True)["root"]

    return encode


def pairs(dtype, floats):
    attention = layers.PairAttention(3, dtype=dtype)
    return attention, attention(floats([2, 4, 5]), IDS != 0)


def perceptron(dtype, floats):
    head = layers.MultilayerPerceptron(2, 3, batch_normalization=True, dropout=0.1, dtype=dtype)
    return head, head(floats([2, 5]), training=True)


CASES = {
    "RNN": recurrent,
    "Encoder, Decoder": translator,
    "PairAttention": pairs,
    "MultilayerPerceptron": perceptron,
    "BagOfWords": encoder_of(layers.BagOfWords, {"words": IDS}),
    "Recurrent": encoder_of(lambda x, dtype: layers.Recurrent(x, 3, state_dropout=0.1, dtype=dtype), {"words": IDS}),
    "Convolutional": encoder_of(lambda x, dtype: layers.Convolutional(x, 3, dtype=dtype), {"words": IDS}),
    "InceptionEncoder": encoder_of(
        lambda x, dtype: layers.InceptionEncoder(x, 8, layers=2, dtype=dtype), {"words": IDS}
    ),
    "TreeLSTMEncoder": encoder_of(
        lambda x, dtype: layers.TreeLSTMEncoder(
            x, 4, composition="grc", composition_dropout=0.1, leaf_rnn="gru", leaf_dropout=0.1, dtype=dtype
        ),
        TREES,
    ),
    "SPINN": encoder_of(lambda x, dtype: layers.SPINN(x, 4, 3, parse="predicted", dtype=dtype), TREES),
    "WordSPINN": encoder_of(lambda x, dtype: WordSPINN(x, 4, 3, dtype=dtype), TREES),
}


ENCODERS_OF_SENTENCES = (
    layers.BagOfWords,
    lambda x, dtype: layers.Recurrent(x, 3, dtype=dtype),
    lambda x, dtype: layers.Convolutional(x, 3, dtype=dtype),
    lambda x, dtype: layers.InceptionEncoder(x, 8, layers=2, dtype=dtype),
    lambda x, dtype: layers.TreeLSTMEncoder(x, 4, dtype=dtype),
    lambda x, dtype: layers.SPINN(x, 4, 3, dtype=dtype),
    lambda x, dtype: WordSPINN(x, 4, 3, dtype=dtype),
)


@pytest.mark.parametrize("dtype", ["float64", "mixed_bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_a_layer_and_its_gradient_have_the_dtype_asked_for(name, dtype):
    policy = keras.DTypePolicy(dtype)
    with tf.GradientTape() as tape:
        layer, output = CASES[name](dtype, lambda shape: tf.ones(shape, policy.compute_dtype))
    assert output.dtype == policy.compute_dtype
    floating = [weight for weight in layer.weights if weight.dtype not in ("int32", "int64", "uint32")]
    assert floating and all(weight.dtype == policy.variable_dtype for weight in floating)
    gradients = tape.gradient(output, [weight.value for weight in layer.trainable_weights])
    assert all(gradient.dtype == policy.variable_dtype for gradient in gradients if gradient is not None)


def test_a_cell_of_another_dtype_is_refused():
    with pytest.raises(ValueError, match="the cell computes in float64, the layer in float32: give both one dtype"):
        layers.RNN(layers.GRUCell(3, dtype="float64"))


def test_ids_may_be_floats_as_keras_gives_them():
    """An `Input` without a dtype, and a `Sequential` without an `Input`, make floats of them."""
    ids = tf.constant([[300, 301]])
    for layer in (
        layers.Embedding(400, 3, dtype="mixed_bfloat16"),
        layers.WordVectors(400, 3, dtype="mixed_bfloat16"),
        layers.Encoder(400, 3, 2, dtype="mixed_bfloat16"),
    ):
        found, expected = layer(tf.cast(ids, tf.float32)), layer(ids)
        tf.nest.map_structure(lambda x, y: tf.debugging.assert_equal(x, y), found, expected)
    ids = tf.constant([[300, 301, 303]])
    encoded = layers.Encoder(400, 3, 2, dtype="mixed_bfloat16")(ids)
    decoder = layers.Decoder(400, 3, 2, dtype="mixed_bfloat16")
    tf.debugging.assert_equal(decoder(tf.cast(ids, tf.float32), encoded), decoder(ids, encoded))
    transitions = batch_of([left_branching(3)])["transitions"]
    for new_encoder in ENCODERS_OF_SENTENCES:
        encoder = new_encoder(layers.WordVectors(400, 3, dtype="mixed_bfloat16"), dtype="mixed_bfloat16")
        found, expected = (
            encoder({"words": words, "transitions": transitions})["root"] for words in (tf.cast(ids, tf.float32), ids)
        )
        tf.debugging.assert_equal(found, expected)
    model = keras.Sequential([layers.Embedding(9, 4, mask_zero=True), layers.RNN(layers.GRUCell(3))])
    assert model(tf.constant([[1, 2, 0]], tf.int64)).shape == (1, 3)
    words = keras.Input([None])
    assert keras.Model(words, layers.Encoder(9, 4, 3)(words)["summary"]).output_shape == (None, 3)
