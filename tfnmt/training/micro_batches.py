"""Training that reads the parts of a batch side by side, each on a processor of its own.

A recurrence takes one time after the other, and the products of one time are too small for several processors. But the
sentences of a batch do not wait for one another: halves of it that stand side by side in one static graph are run side
by side, with one thread for each operation (`tfnmt.threads`).
"""

import keras
import tensorflow as tf


class SideBySide:
    """Makes `fit` read every batch in `parts` parts, for a Keras model that inherits from this first.

    The loss is that of the whole batch, and so is its gradient. What a model takes of a batch as a whole is of each
    part then, as in data-parallel training: the moments of batch normalisation, the baseline of a single draw.

    The model has a method `loss_terms(x, y, y_pred)`, a list of (mean, count): the loss is the sum of the means, and
    count says of how many each is the mean.
    """

    parts = 1
    """How many; to be set before the first step. 1 is Keras's own training step."""

    def make_train_function(self, force=False):
        """Keras's; the optimizer has its variables before, or the step would be traced twice: with and without."""
        self.optimizer.build(self.trainable_weights)
        return super().make_train_function(force)

    def train_step(self, data):
        """One update of the weights, on `data`: inputs and labels of one batch."""
        if self.parts == 1:
            return super().train_step(data)
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            parts = [(x_part, y_part, self(x_part, training=True)) for x_part, y_part in self._in_parts(x, y)]
            loss = loss_of_parts([self.loss_terms(*part) for part in parts])
            scaled = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        (loss_so_far,) = [metric for metric in self.metrics if metric.name == "loss"]
        loss_so_far.update_state(loss, sample_weight=tf.shape(y)[0])
        for part in parts:
            figures = self.compute_metrics(*part)
        return figures

    def _in_parts(self, x, y):
        """Every `parts`-th example from the first one on, from the second one on, ...: a list of (x, y).

        Of fewer examples than parts some are in several, so that no part is empty.
        """
        count = tf.shape(y)[0]
        return [self.chosen(x, y, tf.range(i % count, count, self.parts)) for i in range(self.parts)]

    def chosen(self, x, y, numbers):
        """The examples of a batch with these numbers, int32 [chosen]: (x, y)."""
        return tf.nest.map_structure(lambda tensor: tf.gather(tensor, numbers), (x, y))


def loss_of_parts(terms_of_parts):
    """The loss of a whole batch: of each term, the mean over all parts; of these, the sum.

    Args:
        terms_of_parts: of each part, what `loss_terms` gives.
    """
    loss = 0.0
    for of_parts in zip(*terms_of_parts, strict=True):
        means, counts = zip(*((mean, tf.cast(count, tf.float32)) for mean, count in of_parts), strict=True)
        summed = tf.add_n([mean * count for mean, count in zip(means, counts, strict=True)])
        loss += tf.math.divide_no_nan(summed, tf.add_n(counts))
    return loss
