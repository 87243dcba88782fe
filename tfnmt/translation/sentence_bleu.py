"""BLEU of single sentences, in the graph: the reward of minimum risk training."""

import tensorflow as tf

ORDERS = 4
"""Sequences of one word to so many are compared."""


def sentence_bleu(hypotheses: tf.Tensor, references: tf.Tensor) -> tf.Tensor:
    """BLEU+1 of each sentence (Lin & Och 2004): one is added to the matches and to the n-grams of two words or more.

    sacrebleu's `sentence_bleu` with `smooth_method="add-k"`, as a part of 1.

    Args:
        hypotheses, references: integers [rows, length], one for each word, the same for the same word; padded with 0.

    Returns:
        float32 [rows], from 0 to 1; 0 where either has no word.
    """
    lengths = [tf.cast(tf.math.count_nonzero(words, axis=1), tf.float32) for words in (hypotheses, references)]
    own_words, reference_words = _equal(hypotheses, hypotheses), _equal(hypotheses, references)
    own, reference = own_words, reference_words
    log_precisions = []
    for n in range(1, ORDERS + 1):
        if n > 1:  # an n-gram is equal to another where the shorter one is, and their last words are
            own, reference = _longer(own, own_words, n), _longer(reference, reference_words, n)
        matches = tf.cast(_clipped_matches(own, reference), tf.float32)
        total = tf.maximum(lengths[0] - (n - 1), 0.0)
        smoothing = 0.0 if n == 1 else 1.0
        log_precisions.append(tf.math.log(tf.math.divide_no_nan(matches + smoothing, total + smoothing)))
    brevity = tf.minimum(1.0 - tf.math.divide_no_nan(lengths[1], lengths[0]), 0.0)
    bleu = tf.exp(tf.add_n(log_precisions) / ORDERS + brevity)
    return tf.where(tf.reduce_min(lengths, axis=0) > 0, bleu, 0.0)


def _equal(first, second):
    """Whether word i of the first is word j of the second: bool [rows, first_length, second_length]."""
    return (first[:, :, tf.newaxis] == second[:, tf.newaxis]) & (first != 0)[:, :, tf.newaxis]


def _longer(equal, words, n):
    """From whether the (n-1)-grams that begin at i and j are equal to whether those of n words are, one place less."""
    return equal[:, :-1, :-1] & words[:, n - 1 :, n - 1 :]


def _clipped_matches(own, reference):
    """How many n-grams are also in the reference, each at most as often as there: [rows].

    The k-th time that a hypothesis has an n-gram, it counts if the reference has it k times.
    """
    own, reference = tf.cast(own, tf.int32), tf.cast(reference, tf.int32)
    nth_time = tf.reduce_sum(tf.linalg.band_part(own, -1, 0), axis=2)
    return tf.math.count_nonzero((nth_time > 0) & (nth_time <= tf.reduce_sum(reference, axis=2)), axis=1)
