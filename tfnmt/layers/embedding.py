"""From words to vectors: looked up, projected, normalized, dropped out."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.int8 import int8_matrix


@keras.saving.register_keras_serializable("tfnmt")
class Embedding(keras.layers.Embedding):
    """s_i = E w_i: the linear projection of a word's 1-of-K vector w_i by the matrix E, which picks E's row for the
    word. It is a look-up, since all other products would be with zero.

    Args:
        vocabulary_size: K.
        size: size of s_i.
        mask_zero: give Keras's layers that follow a mask that is False at 0, the id of padding.
    """

    def __init__(self, vocabulary_size: int, size: int, mask_zero: bool = False, **options: Any):
        # So that s_i has length 1, whatever its size.
        scale = keras.initializers.RandomNormal(stddev=size**-0.5)
        super().__init__(vocabulary_size, size, embeddings_initializer=scale, mask_zero=mask_zero, **options)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Ids int [...] → float [..., size]. Keras gives ids as floats where an input has no dtype."""
        inputs = inputs if inputs.dtype.is_integer else tf.cast(inputs, tf.int32)
        if (table := int8_matrix(self.embeddings)) is not None:
            return table.vectors(inputs)
        return tf.cast(_rows(tf.convert_to_tensor(self.embeddings), inputs), self.compute_dtype)

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        config = super().get_config()
        known = ("name", "trainable", "dtype", "mask_zero", "embeddings_regularizer", "embeddings_constraint")
        return {"vocabulary_size": self.input_dim, "size": self.output_dim} | {name: config[name] for name in known}


@tf.custom_gradient
def _rows(E, ids):
    """E's rows. The gradient is dense: with the slices that TensorFlow makes of it, Keras's optimizers take
    ten times as long.
    """

    def gradient(ds):
        rows = tf.reshape(ds, [-1, E.shape[1]])
        return tf.math.unsorted_segment_sum(rows, tf.reshape(ids, [-1]), E.shape[0]), None

    return tf.gather(E, ids), gradient


@keras.saving.register_keras_serializable("tfnmt")
class WordVectors(keras.layers.Layer):
    """x_i = dropout(BN(E w_i P + b)): the words of sentences as vectors.

    Bowman et al. 2016, arXiv:1603.06021: fixed GloVe vectors, a trained projection, batch normalization.

    Args:
        vocabulary_size: K of the 1-of-K vectors w_i.
        size: size of E's vectors.
        trained: False keeps E as it is, as for pretrained vectors.
        projection: size of x_i after a trained affine map; None for none.
        batch_normalization: normalize each unit over all real words of a batch; padding does not count.
        dropout: fraction of x_i's units dropped.
    """

    def __init__(
        self,
        vocabulary_size: int,
        size: int,
        trained: bool = True,
        projection: int | None = None,
        batch_normalization: bool = False,
        dropout: float = 0.0,
        **options: Any,
    ):
        super().__init__(autocast=False, **options)
        self.E = Embedding(vocabulary_size, size, trainable=trained, name="E", dtype=self.dtype_policy.name)
        self.projection = self.normalization = None
        if projection is not None:
            self.projection = keras.layers.Dense(projection, name="projection", dtype=self.dtype_policy.name)
        if batch_normalization:
            self.normalization = keras.layers.BatchNormalization(
                momentum=0.9, name="normalization", dtype=self.dtype_policy.name
            )
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy.name)
        self.output_size = projection or size

    def build(self, input_shape: tuple | None = None) -> None:
        self.E.build(input_shape)
        if self.projection is not None:
            self.projection.build((None, None, self.E.output_dim))
        if self.normalization is not None:
            self.normalization.build((None, None, self.output_size))

    def call(self, ids: tf.Tensor, training: bool | None = False) -> tf.Tensor:
        """int32 [sentences, words], padded with 0 → float [sentences, words, output_size], zeros at padding."""
        mask = ids != 0
        x = self.E(ids)
        if self.projection is not None:
            x = self.projection(x)
        if self.normalization is not None:
            x = self.normalization(x, training=training, mask=mask)
        x = self.dropout(x, training=training)
        return x * tf.cast(mask, x.dtype)[:, :, tf.newaxis]


def require_word_vectors(embedding: Any) -> keras.layers.Layer:
    """What an encoder of sentences is given as its embedding.

    Raises:
        TypeError: it is no `WordVectors`, nor a layer like it.
    """
    if not hasattr(embedding, "output_size"):
        raise TypeError(
            "embedding is tfnmt.layers.WordVectors, or a layer that has an output_size and is called with ids and"
            f" training, not {embedding!r}"
        )
    return embedding


def from_configuration(embedding: Any) -> keras.layers.Layer:
    """The embedding that an encoder's `get_config` has given: as Keras has saved it, or, where an encoder is copied, a
    layer, of which a new one is made."""
    if isinstance(embedding, dict):
        return keras.saving.deserialize_keras_object(embedding)
    return type(embedding).from_config(embedding.get_config())


def whole_word_dropout(rate: float, dtype: str) -> keras.layers.Dropout:
    """Dropout of [time, batch, size] that leaves a word's vector whole or drops all of it (Sennrich & Zhang 2019,
    arXiv:1905.11901, section 4.2)."""
    return keras.layers.Dropout(rate, noise_shape=(None, None, 1), dtype=dtype)


def variational_dropout(rate: float, dtype: str) -> keras.layers.Dropout:
    """Dropout of [time, batch, size] with one mask for all times (Gal & Ghahramani 2016, arXiv:1512.05287)."""
    return keras.layers.Dropout(rate, noise_shape=(1, None, None), dtype=dtype)
