"""Rewards as Bradbury's post has them: (−loss − mean) / std, "where mean and std represent averages across batches"."""

import keras
import tensorflow as tf

LONGEST = 100
"""At first the averages are those of all batches; from so many on, a new batch has a weight of one in so many."""
SMALLEST_STD = 1e-3


@keras.saving.register_keras_serializable("tfnmt")
class RunningStandardization(keras.layers.Layer):
    """R → (R − mean) / std with averages over the batches so far, this one included. A batch that is divided, among
    workers or by `micro_batches`, is several: each micro-batch's rewards have the averages as they are then.

    The averages are part of the model: a resumed run has them (one of several workers, of which each has its own, the
    chief's). One that begins with a trained model has averages of its own, since its rewards may be others.
    """

    begins_anew = True

    def build(self, input_shape: tuple | None = None) -> None:
        """Make the averages; `input_shape` has no effect."""
        self.batches, self.mean, self.mean_square = (
            self.add_weight(name=name, shape=(), initializer="zeros", trainable=False, aggregation="mean")
            for name in ("batches", "mean", "mean_square")
        )

    def call(self, rewards: tf.Tensor) -> tf.Tensor:
        """float of any shape → the same shape; every call is one more batch, or micro-batch."""
        self.batches.assign_add(1.0)
        weight = 1 / tf.minimum(tf.convert_to_tensor(self.batches), LONGEST)
        for average, new in ((self.mean, rewards), (self.mean_square, rewards**2)):
            average.assign_add(weight * (tf.reduce_mean(new) - average))
        mean, mean_square = tf.convert_to_tensor(self.mean), tf.convert_to_tensor(self.mean_square)
        return (rewards - mean) / tf.maximum(tf.sqrt(tf.maximum(mean_square - mean**2, 0.0)), SMALLEST_STD)
