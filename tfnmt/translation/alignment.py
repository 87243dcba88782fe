"""From attention over tokens to pairs of words: which word of the source a word of the translation belongs to."""

import tensorflow as tf

from tfnmt.text.tokenizers import END, PADDING


def word_numbers(tokenizer, ids):
    """Which word each token is part of, int32, counted from 0: ids [..., length] → [..., length].

    −1 for tokens that are part of none: END and padding.
    """
    begins = tokenizer.begins_word(ids) | (tf.range(tf.shape(ids)[-1]) == 0)
    numbers = tf.cumsum(tf.cast(begins, tf.int32), axis=-1) - 1
    return tf.where((ids == END) | (ids == PADDING), -1, numbers)


def word_attention(attention, source_words, target_words):
    """Attention between words: the sum over the tokens of both.

    Args:
        attention: float [batch, n, length, source_length], of every token.
        source_words: int32 [batch, source_length], as `word_numbers` gives them.
        target_words: int32 [batch, n, length].

    Returns:
        float [batch, n, length, source_length]: for as many words as there are tokens, 0 where there are fewer.
    """
    to_words = tf.one_hot(source_words, tf.maximum(tf.shape(source_words)[-1], 1), dtype=attention.dtype)
    of_words = tf.one_hot(target_words, tf.shape(target_words)[-1], dtype=attention.dtype)
    return tf.einsum("bntv,bnts,bsw->bnvw", of_words, attention, to_words)


def pharaoh(attention, target_words):
    """Pairs source-target such as "0-0 1-2 2-1": each word of the translation with the one it attends to most.

    Args:
        attention: what `word_attention` gives.
        target_words: int32 [batch, n, length], as `word_numbers` gives them.

    Returns:
        string [batch, n], words counted from 0.
    """
    counts = tf.reduce_max(target_words, axis=-1, keepdims=True) + 1
    nearest = tf.argmax(attention, axis=-1, output_type=tf.int32)
    numbers = tf.zeros_like(nearest) + tf.range(tf.shape(nearest)[-1])
    pairs = tf.strings.join([tf.strings.as_string(nearest), tf.strings.as_string(numbers)], "-")
    pairs = tf.where(numbers < counts, tf.strings.join([pairs, " "]), "")
    return tf.strings.strip(tf.strings.reduce_join(pairs, axis=-1))


def attended(attention, source, surfaces):
    """The source token that each token attends to most, as it stands in the text: string [batch, n, length].

    Args:
        attention: float [batch, n, length, source_length].
        source: int32 [batch, source_length], the source's tokens, END, padding.
        surfaces: string [batch, source_length], how they stand in the text.
    """
    is_word = ((source != END) & (source != PADDING))[:, tf.newaxis, tf.newaxis]
    places = tf.argmax(tf.where(is_word, attention, -1.0), axis=-1)
    return tf.gather(surfaces, places, batch_dims=1)
