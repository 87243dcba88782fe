"""The tracker: what SPINN remembers of the sentence as it reads, and by which it decides how to parse."""

import keras
import tensorflow as tf

from tfnmt.layers.cells import LSTMCell
from tfnmt.layers.recurrence import times

UNLIKELY = -1e9  # the logit of an illegal move; finite, since −∞ − −∞ would be no number where neither is legal


class Tracker(keras.layers.Layer):
    """An LSTM over the transitions: (h, c)_t = LSTM([h_first; h_top; h_second], (h, c)_{t−1}), where the three are the
    buffer's first word and the two highest phrases on the stack, before transition t. From it come the logits of the
    transition, h_t W_p + b_p (Bowman et al. 2016, arXiv:1603.06021, section 3.1).

    Args:
        units: size of h_t and c_t.
        predicts: whether it has W_p and b_p.
    """

    def __init__(self, units, predicts=False, **options):
        super().__init__(**options)
        self.cell = LSTMCell(units, name="cell")
        self.predicts = predicts

    def build(self, input_size):
        """`input_size`: of the three h together."""
        self.cell.build(input_size)
        if self.predicts:
            self.W_p = self.add_weight(name="W_p", shape=(self.cell.units, 2), initializer="glorot_uniform")
            self.b_p = self.add_weight(name="b_p", shape=(2,), initializer="zeros")

    def loop_weights(self):
        """The matrices that `step` multiplies with, by name."""
        return self.cell.loop_weights(with_inputs=True)

    def loop_constants(self):
        """What else `step` needs."""
        return self.cell.loop_constants()

    def start(self, sentences):
        """(h, c) before the first transition: zeros [sentences, units]."""
        return (tf.zeros([sentences, self.cell.units], self.compute_dtype),) * 2

    def step(self, looks, states, invariants):
        """(h, c) → (h, c), each [sentences, units]; `looks` [sentences, 3, size]: the three h."""
        inputs = tf.reshape(looks, [-1, 3 * looks.shape[2]])
        return self.cell.step(self.cell.project(inputs, invariants), states, invariants)

    def scores(self, h):
        """Logits of SHIFT and REDUCE, [..., 2], of its h [..., units]."""
        return times(h, tf.convert_to_tensor(self.W_p)) + self.b_p
