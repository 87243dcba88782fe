"""Training that reads several micro-batches of a batch at the same time, each on a processor of its own.

A recurrence takes one time step after the other, and the products of one step are too small for several processors. But
the sentences of a batch do not depend on one another: micro-batches that stand side by side in one static graph are run
in parallel, with one thread for each operation (`tfnmt.threads`).
"""

from typing import Any

import keras
import tensorflow as tf

LossTerms = list[tuple[tf.Tensor, tf.Tensor]]


class MicroBatchTraining:
    """A mixin, before `keras.Model`: `fit` splits every batch into `micro_batches` micro-batches.

    Loss and gradient are those of the whole batch. Statistics of a batch are those of each micro-batch, as in
    data-parallel training: the moments of batch normalization, the baseline of a single draw.

    The model sets `micro_batches` when it is made, and has a method `loss_terms(x, y, y_pred)`, a list of (mean,
    count): the loss is the sum of the means, each a mean over `count` labels.
    """

    micro_batches: int = 1
    """How many; 1 is Keras's own training step."""

    def make_train_function(self, force: bool = False) -> Any:
        """Keras's; the optimizer is built before, or the step would be traced twice: without its variables and with."""
        self.optimizer.build(self.trainable_weights)
        return super().make_train_function(force)

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """One update of the weights, on `data`: inputs and labels of one batch."""
        if self.micro_batches == 1:
            return super().train_step(data)
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            predicted = [(x_part, y_part, self(x_part, training=True)) for x_part, y_part in self._split(x, y)]
            loss = batch_loss([self.loss_terms(*part) for part in predicted])
            scaled = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        (mean_loss,) = [metric for metric in self.metrics if metric.name == "loss"]
        mean_loss.update_state(loss, sample_weight=tf.shape(y)[0])
        for part in predicted:
            metrics = self.compute_metrics(*part)
        return metrics

    def _split(self, x, y):
        """The micro-batches: every `micro_batches`-th example from the first one on, from the second one on, ...

        If the examples are fewer, some are in several micro-batches, so that none is empty.
        """
        count = tf.shape(y)[0]
        indices = [tf.range(i % count, count, self.micro_batches) for i in range(self.micro_batches)]
        return [self.select_examples(x, y, each) for each in indices]

    def select_examples(self, x: Any, y: tf.Tensor, indices: tf.Tensor) -> tuple[Any, tf.Tensor]:
        """(x, y) of the examples at these indices of a batch, int32 [selected]."""
        return tf.nest.map_structure(lambda tensor: tf.gather(tensor, indices), (x, y))


def batch_loss(terms_of_micro_batches: list[LossTerms]) -> tf.Tensor:
    """The loss of a whole batch: of each term the mean over all micro-batches, then the sum of the terms.

    Args:
        terms_of_micro_batches: what `loss_terms` gives for each micro-batch.
    """
    loss = 0.0
    for term in zip(*terms_of_micro_batches, strict=True):
        means, counts = zip(*((mean, tf.cast(count, tf.float32)) for mean, count in term), strict=True)
        total = tf.add_n([mean * count for mean, count in zip(means, counts, strict=True)])
        loss += tf.math.divide_no_nan(total, tf.add_n(counts))
    return loss
