"""What `fit` and `evaluate` show of a sequence model: exact means over all real words of all batches."""

import keras
import tensorflow as tf

from tfnmt.training.losses import word_losses


class _OverWords(keras.metrics.Metric):
    """A sum over words that are not padding (0), and how many they are."""

    def __init__(self, name, **options):
        super().__init__(name=name, **options)
        self.total = self.add_weight(name="total", initializer="zeros")
        self.words = self.add_weight(name="words", initializer="zeros")

    def update_state(self, labels, logits, sample_weight=None):
        """Integers [batch, length] and logits [batch, length, vocabulary_size]. `sample_weight` is not used:
        padding is known.
        """
        mask = tf.cast(labels != 0, tf.float32)
        self.total.assign_add(tf.reduce_sum(self.values(labels, logits) * mask))
        self.words.assign_add(tf.reduce_sum(mask))

    def result(self):
        return tf.math.divide_no_nan(self.total.value, self.words.value)


@keras.saving.register_keras_serializable("tfnmt")
class Perplexity(_OverWords):
    """exp(−(1/N) Σ log p(label)), without label smoothing."""

    def __init__(self, name="perplexity", **options):
        super().__init__(name, **options)

    def values(self, labels, logits):
        return word_losses(labels, logits)

    def result(self):
        return tf.exp(super().result())


@keras.saving.register_keras_serializable("tfnmt")
class TokenAccuracy(_OverWords):
    """The share of words to which the model gives the highest logit."""

    def __init__(self, name="token_accuracy", **options):
        super().__init__(name, **options)

    def values(self, labels, logits):
        label_logits = tf.gather(logits, tf.cast(labels, tf.int32), batch_dims=2)
        return tf.cast(label_logits >= tf.reduce_max(logits, axis=-1), tf.float32)
