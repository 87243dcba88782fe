"""The decoder, with attention or without, as a plain loop over the words of a translation.

The layers and weights are those of `tfnmt.layers.decoder.Decoder`.
"""

import tensorflow as tf


def score(decoder, ids, encoded):
    """What a built `Decoder` computes when it is not training: one word after the other.

    Args:
        decoder, ids, encoded: as in `Decoder.call`.

    Returns:
        The scores of every word at every place, float [batch, target_length, vocabulary_size].
    """
    states, memory = decoder.start(encoded)
    scores = []
    for words in tf.unstack(ids, axis=1):
        scores_of_next, states, _ = decoder.step(words, states, memory)
        scores.append(scores_of_next)
    return tf.stack(scores, axis=1)
