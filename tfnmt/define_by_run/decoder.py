"""The attention decoder as a Python loop over words.

The layers and weights are those of `tfnmt.layers.decoder.Decoder`; it does the same in a `tf.while_loop`, with all
that does not depend on the loop before or after it.
"""

import tensorflow as tf

from tfnmt.layers.decoder import Decoder


def decode(decoder: Decoder, ids: tf.Tensor, encoded: dict[str, tf.Tensor]) -> tf.Tensor:
    """What a built `Decoder` computes, dropout aside; arguments and results are its."""
    states, memory = decoder.start(encoded)
    shared = decoder.for_steps()
    logits = []
    for word in tf.unstack(ids, axis=1):
        logits_of_word, states, _ = decoder.step(word, states, memory, shared)
        logits.append(logits_of_word)
    return tf.stack(logits, axis=1)
