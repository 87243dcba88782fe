"""Metrics of a sequence model for `fit` and `evaluate`: exact means over all words but padding of all batches."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.training.losses import refuse_weights, word_losses


class _WordMean(keras.metrics.Mean):
    """The mean over all words that are not padding (0)."""

    def update_state(self, labels: tf.Tensor, logits: tf.Tensor, sample_weight: None = None) -> None:
        """Integers [batch, length] and logits [batch, length, vocabulary_size].

        Raises:
            ValueError: there are weights, or labels and logits are of different shapes.
        """
        refuse_weights(sample_weight)
        values, real = self.values(labels, logits), tf.cast(labels != 0, tf.float32)
        super().update_state(tf.reshape(values, [-1]), tf.reshape(real, [-1]))  # of rows, Keras would take the means

    @property
    def words(self) -> keras.Variable:
        """How many words there have been: float32."""
        return self.count


@keras.saving.register_keras_serializable("tfnmt")
class Perplexity(_WordMean):
    """exp(−(1/N) Σ log p(label)), without label smoothing."""

    def __init__(self, name: str = "perplexity", **options: Any):
        super().__init__(name, **options)

    def values(self, labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """−log p(label) of each word: float32 [batch, length]."""
        return word_losses(labels, logits)

    def result(self) -> tf.Tensor:
        """A float32 scalar."""
        return tf.exp(super().result())


@keras.saving.register_keras_serializable("tfnmt")
class TokenAccuracy(_WordMean):
    """The share of words to which the model gives the highest logit."""

    def __init__(self, name: str = "token_accuracy", **options: Any):
        super().__init__(name, **options)

    def values(self, labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """1 where the label has the highest logit, else 0: float32 [batch, length]."""
        label_logits = tf.gather(logits, tf.cast(labels, tf.int32), batch_dims=2)
        return tf.cast(label_logits >= tf.reduce_max(logits, axis=-1), tf.float32)
