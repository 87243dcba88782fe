"""Attention of subwords added up to pairs of words, by hand."""

import numpy as np
import tensorflow as tf

from tfnmt.text.tokenizers import END
from tfnmt.translation.alignment import attended_surface_forms, pharaoh, word_attention, word_indices

# Two source words, the first of two tokens, then END and padding; three target words, the last of two tokens.
SOURCE_WORDS = tf.constant([[0, 0, 1, -1, -1]])
TARGET_WORDS = tf.constant([[[0, 1, 2, 2, -1]]])
ATTENTION = tf.constant(
    [[[[0.3, 0.3, 0.4, 0, 0], [0, 0.1, 0.2, 0.7, 0], [0.6, 0, 0.3, 0.1, 0], [0, 0, 0.9, 0.1, 0], [0] * 5]]]
)


class Tokens:
    @staticmethod
    def begins_word(ids):
        return ids % 2 == 0


def test_word_indices():
    ids = tf.constant([[4, 5, 6, 7, 7, END, 0], [5, 4, END, 0, 0, 0, 0]])
    assert word_indices(Tokens, ids).numpy().tolist() == [[0, 0, 1, 1, 1, -1, -1], [0, 1, -1, -1, -1, -1, -1]]


def test_attention_of_words_and_their_pairs():
    of_words = word_attention(ATTENTION, SOURCE_WORDS, TARGET_WORDS)
    np.testing.assert_allclose(of_words[0, 0, :3, :2], [[0.6, 0.4], [0.1, 0.2], [0.6, 1.2]], rtol=1e-6)
    assert not of_words[0, 0, 3:].numpy().any() and not of_words[..., 2:].numpy().any()
    assert pharaoh(of_words, TARGET_WORDS).numpy().tolist() == [[b"0-0 1-1 1-2"]]
    assert pharaoh(of_words, tf.fill([1, 1, 5], -1)).numpy().tolist() == [[b""]]


def test_the_token_attended_to_is_never_the_end():
    source = tf.constant([[5, 6, 7, END, 0]])
    surfaces = tf.constant([["a", "b", "c", "", ""]])
    assert attended_surface_forms(ATTENTION, source, surfaces)[0, 0, :4].numpy().tolist() == [b"c", b"c", b"a", b"c"]
