"""The encoder: reads the source into one hidden state for each word, and a summary h_T of the sentence."""

import keras
import tensorflow as tf

from tfnmt.layers.cells import CELLS
from tfnmt.layers.recurrence import recur


class Encoder(keras.layers.Layer):
    """h_i = φ(h_{i−1}, s_i) with s_i = E w_i and h_0 = 0.

    Cho 2015, "Introduction to Neural Machine Translation with GPUs", part 2.

    Args:
        vocabulary_size: K of the 1-of-K vectors w_i.
        embedding_size: size of s_i.
        units: size of h_i, in each direction.
        layers: how many recurrences stand on one another.
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
    """

    def __init__(
        self,
        vocabulary_size,
        embedding_size,
        units,
        layers=1,
        cell="gru",
        bidirectional=False,
        residual=False,
        layer_normalization=False,
        word_dropout=0.0,
        embedding_dropout=0.0,
        state_dropout=0.0,
        output_dropout=0.0,
        summary_dropout=0.0,
        **options,
    ):
        super().__init__(**options)
        self.E = Embedding(vocabulary_size, embedding_size, name="E")
        self.directions = 2 if bidirectional else 1
        self.output_size = self.directions * units
        self.residual = residual
        ways = ("forward", "backward")[: self.directions]
        # One flat list: Keras saves no layers that are in a list in a list.
        self.cells = [
            CELLS[cell](units, layer_normalization, name=f"layer_{i}_{way}") for i in range(layers) for way in ways
        ]
        self.word_dropout = whole_word_dropout(word_dropout)
        self.embedding_dropout = over_time_dropout(embedding_dropout)
        self.state_dropout = keras.layers.Dropout(state_dropout)
        self.output_dropout = over_time_dropout(output_dropout)
        self.summary_dropout = keras.layers.Dropout(summary_dropout)

    def build(self, ids_shape):
        self.E.build(ids_shape)
        for i, cell in enumerate(self.cells):
            cell.build(self.output_size if i >= self.directions else self.E.output_dim)

    def call(self, ids, training=False):
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
        for i in range(0, len(self.cells), self.directions):
            cells = self.cells[i : i + self.directions]
            h, summary = read_layer(s, mask, cells, self.state_dropout, training)
            s = s + h if self.residual and i else h
        h = self.output_dropout(s, training=training)
        summary = self.summary_dropout(summary, training=training)
        return {"states": tf.transpose(h, [1, 0, 2]), "mask": tf.transpose(mask), "summary": summary}


def read_layer(s, mask, cells, state_dropout, training=False):
    """One recurrent layer over a batch of sequences.

    Args:
        s: its inputs, float [time, batch, size].
        mask: bool [time, batch], False at padding, which changes no state.
        cells: one built `Cell` that reads forward, or two, of which the second reads backward.
        state_dropout: a `Dropout` layer of h in its product with U; one mask for all times.

    Returns:
        (h [time, batch, directions · units], the last h of each direction [batch, directions · units]).
    """
    both = []
    for cell, reverse in zip(cells, (False, True), strict=False):
        zeros = tf.zeros([tf.shape(s)[1], cell.units], s.dtype)
        dropout_mask = None
        if state_dropout.rate:
            dropout_mask = state_dropout(tf.ones_like(zeros), training=training)

        def step(inputs, states, invariants, cell=cell):
            states = cell.step(*inputs, states, invariants)
            return states[:1], states

        (h,), last = recur(
            step,
            inputs=(cell.project(s),),
            states=(zeros,) * cell.number_of_states,
            weights=cell.loop_weights(),
            output_sizes=(cell.units,),
            constants=cell.loop_constants(dropout_mask),
            mask=mask,
            reverse=reverse,
        )
        both.append((h, last[0]))
    return tuple(tf.concat(parts, axis=-1) for parts in zip(*both, strict=True))


class Embedding(keras.layers.Embedding):
    """s_i = E w_i: the linear projection of a word's 1-of-K vector w_i by the matrix E, which picks E's row
    for the word.

    ids int32 [...] → float [..., size]. Written as a look-up since all other products would be with zero.
    """

    def __init__(self, vocabulary_size, size, **options):
        # So that s_i has length 1, whatever its size.
        scale = keras.initializers.RandomNormal(stddev=size**-0.5)
        super().__init__(vocabulary_size, size, embeddings_initializer=scale, **options)

    def call(self, ids):
        return tf.cast(_rows(tf.convert_to_tensor(self.embeddings), ids), self.compute_dtype)


@tf.custom_gradient
def _rows(E, ids):
    """E's rows. The gradient is dense: with the slices that TensorFlow makes of it, Keras's optimizers take
    ten times as long.
    """

    def gradient(ds):
        rows = tf.reshape(ds, [-1, E.shape[1]])
        return tf.math.unsorted_segment_sum(rows, tf.reshape(ids, [-1]), E.shape[0]), None

    return tf.gather(E, ids), gradient


def whole_word_dropout(rate):
    """Dropout of [time, batch, size] that leaves a word's vector whole or drops all of it."""
    return keras.layers.Dropout(rate, noise_shape=(None, None, 1))


def over_time_dropout(rate):
    """Dropout of [time, batch, size] with one mask for all times (Gal & Ghahramani 2016)."""
    return keras.layers.Dropout(rate, noise_shape=(1, None, None))
