"""From words to vectors: looked up, projected, normalised, dropped out."""

import keras
import tensorflow as tf

from tfnmt.layers.encoder import Embedding


class WordVectors(keras.layers.Layer):
    """x_i = dropout(BN(E w_i P + b)): the words of sentences as vectors.

    Bowman et al. 2016, arXiv:1603.06021, section 3.3: fixed GloVe vectors, a trained projection, batch normalisation.

    Args:
        vocabulary_size: K of the 1-of-K vectors w_i.
        size: size of E's vectors.
        trained: False keeps E as it is, as for pretrained vectors.
        projection: size of x_i after a trained affine map; None for none.
        batch_normalization: normalise each unit over all real words of a batch; padding does not count.
        dropout: fraction of x_i's units dropped.
    """

    def __init__(
        self,
        vocabulary_size,
        size,
        trained=True,
        projection=None,
        batch_normalization=False,
        dropout=0.0,
        **options,
    ):
        super().__init__(**options)
        self.E = Embedding(vocabulary_size, size, trainable=trained, name="E")
        self.projection = None if projection is None else keras.layers.Dense(projection, name="projection")
        self.normalization = (
            keras.layers.BatchNormalization(momentum=0.9, name="normalization") if batch_normalization else None
        )
        self.dropout = keras.layers.Dropout(dropout)
        self.output_size = projection or size

    def build(self, ids_shape=None):
        self.E.build(ids_shape)
        if self.projection is not None:
            self.projection.build((None, None, self.E.output_dim))
        if self.normalization is not None:
            self.normalization.build((None, None, self.output_size))

    def call(self, ids, training=False):
        """int32 [sentences, words], padded with 0 → float [sentences, words, output_size], zeros at padding."""
        mask = ids != 0
        x = self.E(ids)
        if self.projection is not None:
            x = self.projection(x)
        if self.normalization is not None:
            x = self.normalization(x, training=training, mask=mask)
        x = self.dropout(x, training=training)
        return x * tf.cast(mask, x.dtype)[:, :, tf.newaxis]
