"""Scheduled sampling: in training, the decoder sometimes reads words of its own in place of the given ones."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.text.tokenizer import PADDING, START


@keras.saving.register_keras_serializable("tfnmt")
class ScheduledSampling(keras.layers.Layer):
    """Replaces a part of the words before each place by draws from what the model itself expected there.

    In training the decoder reads the given words, in a search its own: it has never seen its own mistakes (exposure
    bias). Bengio et al. 2015 (arXiv:1506.03099) draw word by word; here all are drawn at once from the probabilities
    given the given words, and the decoder then runs a second time, as in parallel scheduled sampling (Duckworth et al.
    2019, arXiv:1906.04331, with one pass): so the loop stays one product for all words.

    Args:
        rate: the part of the words that are drawn.
    """

    def __init__(self, rate: float, **options: Any):
        super().__init__(**options)
        self.rate = rate
        self.seeds = keras.random.SeedGenerator()
        self.built = True

    def call(self, ids: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """What the decoder is to read.

        Args:
            ids: int32 [batch, target_length], the given words before each place: START, then the translation.
            logits: float [batch, target_length, vocabulary_size], of the word at each place.

        Returns:
            int32 [batch, target_length]; START and padding are as they were, and are never drawn, as no search finds
            them. No gradient goes through the draws.
        """
        seed = tf.cast(self.seeds.next(), tf.int32)
        shape, vocabulary_size = tf.shape(ids), logits.shape[-1]
        rows = tf.reshape(tf.cast(logits, tf.float32), [-1, vocabulary_size])
        never = tf.reduce_any(tf.one_hot([PADDING, START], vocabulary_size, True, False), axis=0)
        rows = tf.where(never, rows.dtype.min, tf.stop_gradient(rows))
        drawn = tf.random.stateless_categorical(rows, 1, seed, tf.int32)
        drawn = tf.reshape(drawn, shape)
        drawn = tf.concat([ids[:, :1], drawn[:, :-1]], axis=1)  # the word at a place is the one before the next
        replaced = tf.random.stateless_uniform(shape, seed + 1) < self.rate
        after_start = tf.range(shape[1]) > 0
        return tf.where(replaced & after_start & (ids != PADDING), drawn, ids)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        return super().get_config() | {"rate": self.rate}
