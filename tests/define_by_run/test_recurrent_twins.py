"""The recurrent encoder and the attention decoder are their define-by-run twins: the same outputs and gradients."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.define_by_run.decoder import decode
from tfnmt.define_by_run.encoder import encode
from tfnmt.layers.decoder import Decoder
from tfnmt.layers.encoder import Encoder

SOURCE = tf.constant([[5, 4, 6, 7, 3], [7, 5, 3, 0, 0], [3, 0, 0, 0, 0]])
TARGET = tf.constant([[2, 4, 5, 8], [2, 8, 8, 0], [2, 0, 0, 0]])


@pytest.fixture(autouse=True, scope="module")
def doubles():
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_dtype_policy("float32")


def scores_and_gradients(encoder, decoder, encode, decode):
    variables = [v.value for v in (*encoder.trainable_variables, *decoder.trainable_variables)]
    with tf.GradientTape() as tape:
        encoded = encode(SOURCE)
        scores = decode(TARGET, encoded)
        loss = tf.reduce_sum(scores * tf.sin(tf.reshape(tf.range(tf.size(scores), dtype=scores.dtype), scores.shape)))
    return encoded["summary"], scores, tape.gradient(loss, variables)


@pytest.mark.parametrize(
    "options", [{}, {"cell": "lstm", "layers": 2, "residual": True, "bidirectional": True}], ids=["gru", "everything"]
)
def test_a_loop_in_a_graph_is_a_python_loop(options):
    keras.utils.set_random_seed(1)
    encoder = Encoder(8, 3, 4, **options)
    decoder = Decoder(9, 3, 4, attention_units=2, cell=options.get("cell", "gru"))
    encoder.build(None)
    decoder.build(encoder.output_size)
    in_graph = tf.function(lambda: scores_and_gradients(encoder, decoder, encoder, decoder), autograph=False)
    by_run = scores_and_gradients(
        encoder, decoder, lambda ids: encode(encoder, ids), lambda ids, encoded: decode(decoder, ids, encoded)
    )
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12), in_graph(), by_run)
