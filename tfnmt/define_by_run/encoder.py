"""The recurrent encoder as Bradbury's post, "Recursive Neural Networks with PyTorch", writes it:

    h = h0
    for word in words:
        h = rnn_unit(word, h)

The layers and weights are those of `tfnmt.layers.encoder.Encoder`; it does the same in a `tf.while_loop`.
"""

import tensorflow as tf

from tfnmt.layers.cells import Cell
from tfnmt.layers.encoder import Encoder
from tfnmt.layers.invariants import invariants_for_one_step


def encode(encoder: Encoder, ids: tf.Tensor) -> dict[str, tf.Tensor]:
    """What a built `Encoder` computes, dropout aside; arguments and results are its."""
    words = tf.unstack(encoder.E(ids), axis=1)
    real = tf.unstack(ids[:, :, tf.newaxis] != 0, axis=1)
    for i in range(0, len(encoder.cells), encoder.directions):
        states, last = [], []
        for cell, direction in zip(encoder.cells[i : i + encoder.directions], (1, -1), strict=False):
            h, h_T = read(cell, words[::direction], real[::direction])
            states.append(h[::direction])
            last.append(h_T)
        h = [tf.concat(of_word, axis=-1) for of_word in zip(*states, strict=True)]
        words = [x + y for x, y in zip(words, h, strict=True)] if encoder.residual and i else h
    return {"states": tf.stack(words, axis=1), "mask": ids != 0, "summary": tf.concat(last, axis=-1)}


def read(cell: Cell, words: list[tf.Tensor], real: list[tf.Tensor]) -> tuple[list[tf.Tensor], tf.Tensor]:
    """One cell over a list of words [batch, size], of which `real` [batch, 1] count: (its h at each, the last h)."""
    invariants = invariants_for_one_step(cell.loop_weights(with_inputs=True), cell.loop_constants())
    states = (tf.zeros([len(words[0]), cell.units], words[0].dtype),) * cell.number_of_states
    outputs = []
    for word, is_real in zip(words, real, strict=True):
        new_states = cell.step(cell.project(word, invariants), states, invariants)
        states = tuple(tf.where(is_real, new, old) for new, old in zip(new_states, states, strict=True))
        outputs.append(states[0])
    return outputs, states[0]
