"""The recurrent encoder as a plain loop: the snippet that Bradbury's post sets beside `tf.while_loop`.

    h = h0
    for word in words:
        h = rnn_unit(word, h)

The layers and weights are those of `tfnmt.layers.encoder.Encoder`.
"""

import tensorflow as tf

from tfnmt.layers.recurrence import held_for_one_step


def encode(encoder, ids):
    """What a built `Encoder` computes of ids, int32 [batch, source_length], when it is not training; returned alike."""
    mask = ids != 0
    words = [encoder.E(column) for column in tf.unstack(ids, axis=1)]
    real = tf.unstack(mask[:, :, tf.newaxis], axis=1)
    for i in range(0, len(encoder.cells), encoder.directions):
        forward, *backward = encoder.cells[i : i + encoder.directions]
        states, summary = read(forward, words, real)
        if backward:
            others, last = read(*backward, words[::-1], real[::-1])
            states = [tf.concat(pair, axis=1) for pair in zip(states, others[::-1], strict=True)]
            summary = tf.concat([summary, last], axis=1)
        if encoder.residual and i:
            states = [word + state for word, state in zip(words, states, strict=True)]
        words = states
    return {"states": tf.stack(words, axis=1), "mask": mask, "summary": summary}


def read(cell, words, real):
    """The hidden state after every word, and the last.

    Args:
        cell: a built `Cell`.
        words: a list of tensors [batch, size].
        real: a list of tensors bool [batch, 1], False at padding, which leaves the states as they are.

    Returns:
        (a list of tensors h [batch, units], the last state's h [batch, units]).
    """
    held = held_for_one_step(cell.loop_weights(), cell.loop_constants())
    states = (tf.zeros([len(words[0]), cell.units], words[0].dtype),) * cell.number_of_states
    hidden = []
    for word, keep in zip(words, real, strict=True):
        new_states = cell.step(cell.project(word), states, held)
        hidden.append(new_states[0])
        states = tuple(tf.where(keep, new, old) for new, old in zip(new_states, states, strict=True))
    return hidden, states[0]
