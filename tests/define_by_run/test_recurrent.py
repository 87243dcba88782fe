"""The loops of an encoder-decoder in static graphs are plain Python loops: in outputs and in gradients, in float64."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.define_by_run import decoder as decoder_twin
from tfnmt.define_by_run import encoder as encoder_twin
from tfnmt.layers.decoder import Decoder
from tfnmt.layers.encoder import Encoder

pytestmark = pytest.mark.usefixtures("float64")

WORDS = tf.constant([[3, 1, 4, 1], [5, 0, 0, 0], [2, 6, 5, 0]])
ANSWERS = tf.constant([[1, 2, 3], [1, 4, 0], [1, 0, 0]])


def gradients(function, layers):
    """The results of a function, and the gradients of a sum of them by all weights of the layers."""
    variables = [variable.value for layer in layers for variable in layer.trainable_variables]
    with tf.GradientTape() as tape:
        results = function()
        flat = tf.concat([tf.reshape(x, [-1]) for x in results], axis=0)
        loss = tf.reduce_sum(flat * tf.sin(1.0 + tf.range(tf.size(flat), dtype=flat.dtype)))
    found = tape.gradient(loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return list(results), [tf.convert_to_tensor(gradient) for gradient in found]


def check_same(found, expected):
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12), found, expected)


@pytest.mark.parametrize(
    "options",
    [
        {"cell": "gru"},
        {"cell": "lstm", "layers": 2, "bidirectional": True, "residual": True, "layer_normalization": True},
    ],
)
def test_an_encoder_is_a_loop_over_words(options):
    keras.utils.set_random_seed(1)
    encoder = Encoder(vocabulary_size=7, embedding_size=3, units=2, **options)
    encoder.build(None)

    def results(encoded):
        return encoded["states"], encoded["summary"]

    found = gradients(tf.function(lambda: results(encoder(WORDS)), autograph=False), [encoder])
    check_same(found, gradients(lambda: results(encoder_twin.encode(encoder, WORDS)), [encoder]))


@pytest.mark.parametrize(
    "options",
    [
        {"attention": "none"},
        {"attention": "additive", "attention_units": 3, "input_feeding": True},
        {"attention": "general", "cell": "lstm", "layers": 2},
        {"cell": "lstm", "layers": 2, "attention_units": 3, "input_feeding": True},
        {"attention": "additive", "conditional": False, "attend_first": True, "output_activation": "maxout"},
    ],
)
def test_a_decoder_is_a_loop_over_words(options):
    keras.utils.set_random_seed(2)
    encoder = Encoder(vocabulary_size=7, embedding_size=3, units=2)
    decoder = Decoder(vocabulary_size=5, embedding_size=3, units=4, **options)
    encoder.build(None)
    decoder.build(None, {"summary": (None, 2)})
    found = gradients(tf.function(lambda: [decoder(ANSWERS, encoder(WORDS))], autograph=False), [encoder, decoder])
    twin = gradients(
        lambda: [decoder_twin.decode(decoder, ANSWERS, encoder_twin.encode(encoder, WORDS))], [encoder, decoder]
    )
    check_same(found, twin)
