"""The encoder: reads the source into one hidden state for each word, and a summary h_T of the sentence."""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.embedding import Embedding, variational_dropout, whole_word_dropout
from tfnmt.layers.recurrent_layers import build_cells, make_cells, read_layers


@keras.saving.register_keras_serializable("tfnmt")
class Encoder(keras.layers.Layer):
    """h_i = φ(h_{i−1}, s_i) with s_i = E w_i and h_0 = 0.

    Cho 2015, "Introduction to Neural Machine Translation with GPUs", part 2.

    Args:
        vocabulary_size: K of the 1-of-K vectors w_i.
        embedding_size: size of s_i.
        units: size of h_i, in each direction.
        layers: number of layers.
        cell: φ, "gru" or "lstm".
        bidirectional: read from both ends; h_i is then both directions' states, side by side (Bahdanau et al.
            2015, section 3.2).
        residual: add each layer's input to its output, from the second layer on.
        layer_normalization: see `Cell`.
        word_dropout: the fraction of words whose whole vectors s_i are dropped (Sennrich & Zhang 2019,
            arXiv:1905.11901, section 4.2).
        embedding_dropout, state_dropout, output_dropout, summary_dropout: fractions dropped of s_i, of h in its product
            with U, of the states and of the summary in the result; one mask for all times (Gal & Ghahramani 2016,
            arXiv:1512.05287).

    Raises:
        ValueError: a cell that there is not, or no layers or units.
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_size: int,
        units: int,
        layers: int = 1,
        cell: str = "gru",
        bidirectional: bool = False,
        residual: bool = False,
        layer_normalization: bool = False,
        word_dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        state_dropout: float = 0.0,
        output_dropout: float = 0.0,
        summary_dropout: float = 0.0,
        **options: Any,
    ):
        super().__init__(autocast=False, **options)
        self.E = Embedding(vocabulary_size, embedding_size, name="E", dtype=self.dtype_policy.name)
        self.directions = 2 if bidirectional else 1
        self.output_size = self.directions * units
        self.residual = residual
        self.cells = make_cells(cell, units, layers, bidirectional, self.dtype_policy.name, layer_normalization)
        self.word_dropout = whole_word_dropout(word_dropout, self.dtype_policy.name)
        self.embedding_dropout = variational_dropout(embedding_dropout, self.dtype_policy.name)
        self.state_dropout = keras.layers.Dropout(state_dropout, dtype=self.dtype_policy.name)
        self.output_dropout = variational_dropout(output_dropout, self.dtype_policy.name)
        self.summary_dropout = keras.layers.Dropout(summary_dropout, dtype=self.dtype_policy.name)

    def build(self, input_shape: tuple | None = None) -> None:
        """All sizes are known without `input_shape`."""
        self.E.build(input_shape)
        build_cells(self.cells, self.directions, self.E.output_dim)

    def call(self, ids: tf.Tensor, training: bool | None = False) -> dict[str, tf.Tensor]:
        """Read the source.

        Args:
            ids: int32 [batch, source_length], padded with 0.
            training: whether to drop out.

        Returns:
            A dictionary: "states" h [batch, source_length, output_size], "mask" bool [batch, source_length],
            and "summary" h_T [batch, output_size], each direction's state after its last word.
        """
        mask = tf.transpose(ids) != 0
        s = self.word_dropout(self.E(tf.transpose(ids)), training=training)
        s = self.embedding_dropout(s, training=training)
        h, summary = read_layers(s, mask, self.cells, self.directions, self.state_dropout, training, self.residual)
        h = self.output_dropout(h, training=training)
        summary = self.summary_dropout(summary, training=training)
        return {"states": tf.transpose(h, [1, 0, 2]), "mask": tf.transpose(mask), "summary": summary}
