"""Steps on parts of a batch: micro-batches in parallel, and slices of it on other devices and machines.

A recurrence takes one time step after the other, and the products of one step are too small for several processors. But
the sentences of a batch do not depend on one another: micro-batches that stand side by side in one static graph are run
in parallel, with one thread for each operation (`tfnmt.threads`). Replicas (`tfnmt.training.replicas`) do the same with
a batch's slices on several devices or machines.
"""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.training.keras_internals import ModelInternals
from tfnmt.training.replicas import ONE_REPLICA, Replicas

LossTerms = list[tuple[tf.Tensor, tf.Tensor]]


class MicroBatchTraining(ModelInternals):
    """A mixin, before `keras.Model`: `fit` splits every batch, or this replica's slice, into `micro_batches`, and
    `evaluate` too.

    Loss, gradient and metrics are those of the whole batch. Statistics of a batch in training are those of each
    micro-batch: the moments of batch normalization, the baseline of a single draw, the averages of `baseline=running`.
    And where a batch to train on has fewer examples than micro-batches, as the last one of an epoch may have, some of
    them count twice. Regularizers of weights count; what layers add by `add_loss` does not.

    The model sets `micro_batches` when it is made, and has a method `loss_terms(x, y, y_pred, training)`, a list of
    (mean, count): the loss is the sum of the means, each a mean over `count` labels.
    """

    micro_batches: int = 1
    """How many; 1 with one replica is Keras's own step."""
    has_further_terms: bool = False
    """Whether `loss_terms` gives more than the loss that `compile` gets."""
    replicas: Replicas = ONE_REPLICA
    """Those that train the model."""

    def make_train_function(self, force: bool = False) -> Any:
        """Keras's; the optimizer is built before, or the step would be traced twice: without its variables and with.

        Raises:
            ValueError: the model was compiled with `loss_weights`, and the loss is not Keras's own.
        """
        by_terms = self.micro_batches > 1 or self.replicas.number > 1 or self.has_further_terms
        if by_terms and (self.get_compile_config() or {}).get("loss_weights") is not None:
            raise ValueError(
                "loss_weights has no effect on a batch in parts, or with further terms of the loss: compile without it"
            )
        self.optimizer.build(self.trainable_weights)
        return super().make_train_function(force)

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """One update of the weights, on `data`: inputs and labels of one batch, or of this replica's slice of it; in
        that case also its weight, see `tfnmt.training.replicas.slice_of`.

        Raises:
            ValueError: examples have weights, or classes.
        """
        x, y, weight = _unpack(data)
        if self.micro_batches == 1 and self.replicas.number == 1:
            return super().train_step(data)
        with tf.GradientTape() as tape:
            predicted = [(x_part, y_part, self(x_part, training=True)) for x_part, y_part in self._overlapping(x, y)]
            loss = batch_loss([self.loss_terms(*part) for part in predicted], self.replicas, weight)
            loss = self.with_penalties(loss, self.replicas)
            scaled = self.optimizer.scale_loss(loss)
        loss, examples, *gradients = self.replicas.sum(
            [loss, weight * tf.cast(tf.shape(y)[0], tf.float32), *tape.gradient(scaled, self.trainable_weights)]
        )
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        self._mean_loss().update_state(loss, sample_weight=examples / self.replicas.metric_copies)
        return self._update_metrics(predicted, weight)

    def test_step(self, data: Any) -> dict[str, tf.Tensor]:
        """The figures of the data so far, with those of `data`, inputs and labels of one batch. Errors as above."""
        x, y, _ = _unpack(data)
        if self.micro_batches == 1 and self.replicas.number == 1:
            return super().test_step(data)
        # Of several processes, the chief's alone scores.
        replicas = self.replicas if self.replicas.processes == 1 else ONE_REPLICA
        parts = [(*part, self(part[0], training=False)) for part in self._disjoint(x, y)]
        loss = batch_loss([self.loss_terms(*part, training=False) for part in parts], replicas)
        loss = self.with_penalties(loss, replicas)
        loss, examples = replicas.sum([loss, tf.cast(tf.shape(y)[0], tf.float32)])
        self._mean_loss().update_state(loss, sample_weight=examples / replicas.metric_copies)
        for part in parts:
            figures = self.compute_metrics(*part)
        return figures

    def with_penalties(self, loss: tf.Tensor, replicas: Replicas = ONE_REPLICA) -> tf.Tensor:
        """A loss, or a replica's part of it, and what the regularizers of the weights add."""
        regularized = [weight for weight in self.trainable_weights if weight.regularizer]
        penalties = [tf.cast(weight.regularizer(weight), tf.float32) for weight in regularized]
        return tf.add_n([loss, *(penalty / replicas.number for penalty in penalties)])

    def _mean_loss(self):
        (mean_loss,) = [metric for metric in self.metrics if metric.name == "loss"]
        return mean_loss

    def _update_metrics(self, predicted, weight):
        """All metrics but the loss, of all replicas' examples."""
        others = [variable for metric in self.metrics if metric.name != "loss" for variable in metric.variables]
        before = [tf.identity(variable.value) for variable in others]
        for part in predicted:
            metrics = self.compute_metrics(*part)
        if self.replicas.number == 1:
            return metrics
        added = [weight * (variable.value - value) for variable, value in zip(others, before, strict=True)]
        for variable, value, of_all in zip(others, before, self.replicas.sum_of_processes(added), strict=True):
            variable.assign(value + of_all)
        return self.get_metrics_result()

    def _disjoint(self, x, y):
        """The micro-batches: every `micro_batches`-th example from the first one on, from the second one on, ..."""
        return self._micro_batches(x, y, tf.minimum)

    def _overlapping(self, x, y):
        """The same, but if the examples are fewer, some are in several micro-batches, so that none is empty: batch
        normalization needs examples."""
        return self._micro_batches(x, y, tf.math.floormod)

    def _micro_batches(self, x, y, first):
        count = tf.shape(y)[0]
        indices = [tf.range(first(i, count), count, self.micro_batches) for i in range(self.micro_batches)]
        return [self.select_examples(x, y, each) for each in indices]

    def select_examples(self, x: Any, y: tf.Tensor, indices: tf.Tensor) -> tuple[Any, tf.Tensor]:
        """(x, y) of the examples at these indices of a batch, int32 [selected]."""
        return tf.nest.map_structure(lambda tensor: tf.gather(tensor, indices), (x, y))


def _unpack(data):
    """(x, y, weight): weight is that of a replica's slice, or 1."""
    x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
    if weight is None:
        return x, y, 1.0
    if weight.shape.rank != 0:
        raise ValueError(
            "sample_weight and class_weight have no effect here: repeat the examples that are to count more"
        )
    return x, y, weight


def batch_loss(
    terms_of_micro_batches: list[LossTerms],
    replicas: Replicas = ONE_REPLICA,
    weight: Any = 1.0,
) -> tf.Tensor:
    """The loss of a whole batch: of each term the mean over all micro-batches, then the sum of the terms.

    Args:
        terms_of_micro_batches: what `loss_terms` gives for each micro-batch.
        replicas: those that have a slice of the batch. The result is then this replica's part of the loss: the parts
            add up to it.
        weight: 0: this replica's slice is not to count.
    """
    sums, counts = [], []
    for term in zip(*terms_of_micro_batches, strict=True):
        means, numbers = zip(*((mean, weight * tf.cast(count, tf.float32)) for mean, count in term), strict=True)
        sums.append(tf.add_n([mean * count for mean, count in zip(means, numbers, strict=True)]))
        counts.append(tf.add_n(numbers))
    return tf.add_n([tf.math.divide_no_nan(*pair) for pair in zip(sums, replicas.sum(counts), strict=True)])
