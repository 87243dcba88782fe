"""From attention between tokens to alignments: which source word each word of the translation belongs to."""

import tensorflow as tf

from tfnmt.text.tokenizers import END, PADDING, Tokenizer


def word_indices(tokenizer: Tokenizer, ids: tf.Tensor) -> tf.Tensor:
    """The index of the word that each token is part of, counted from 0: int32 [..., length] → [..., length].

    −1 for END and padding.
    """
    begins = tokenizer.begins_word(ids) | (tf.range(tf.shape(ids)[-1]) == 0)
    indices = tf.cumsum(tf.cast(begins, tf.int32), axis=-1) - 1
    return tf.where((ids == END) | (ids == PADDING), -1, indices)


def word_attention(attention: tf.Tensor, source_words: tf.Tensor, target_words: tf.Tensor) -> tf.Tensor:
    """Attention between words: the sum over the tokens of both.

    Args:
        attention: float [batch, n, length, source_length], between tokens.
        source_words: int32 [batch, source_length], from `word_indices`.
        target_words: int32 [batch, n, length], from `word_indices`.

    Returns:
        float [batch, n, length, source_length]: of as many words as there are tokens, 0 where there are fewer.
    """
    to_words = tf.one_hot(source_words, tf.maximum(tf.shape(source_words)[-1], 1), dtype=attention.dtype)
    of_words = tf.one_hot(target_words, tf.shape(target_words)[-1], dtype=attention.dtype)
    return tf.einsum("bntv,bnts,bsw->bnvw", of_words, attention, to_words)


def pharaoh(attention: tf.Tensor, target_words: tf.Tensor) -> tf.Tensor:
    """Pairs source-target such as "0-0 1-2 2-1": each word of the translation with the one it attends to most.

    Args:
        attention: float [batch, n, length, source_length], from `word_attention`.
        target_words: int32 [batch, n, length], from `word_indices`.

    Returns:
        string [batch, n], words counted from 0.
    """
    counts = tf.reduce_max(target_words, axis=-1, keepdims=True) + 1
    source = tf.argmax(attention, axis=-1, output_type=tf.int32)
    target = tf.zeros_like(source) + tf.range(tf.shape(source)[-1])
    pairs = tf.strings.join([tf.strings.as_string(source), tf.strings.as_string(target)], "-")
    pairs = tf.where(target < counts, tf.strings.join([pairs, " "]), "")
    return tf.strings.strip(tf.strings.reduce_join(pairs, axis=-1))


def attended_surface_forms(attention: tf.Tensor, source: tf.Tensor, surfaces: tf.Tensor) -> tf.Tensor:
    """The source token that each token attends to most, as the text has it: string [batch, n, length].

    Args:
        attention: float [batch, n, length, source_length].
        source: int32 [batch, source_length], the source's tokens, END, padding.
        surfaces: string [batch, source_length], the tokens as the text has them.
    """
    is_word = ((source != END) & (source != PADDING))[:, tf.newaxis, tf.newaxis]
    positions = tf.argmax(tf.where(is_word, attention, -1.0), axis=-1)
    return tf.gather(surfaces, positions, batch_dims=1)
