"""What a search works on: a step function, and functions that change one.

    step(ids, states, memory) -> (log_probabilities, states, notes)

`ids` int32 [rows] are the words before (the start word at first), `log_probabilities` float32 [rows, vocabulary_size]
those of the next word, `states` any structure of tensors [rows, ...] that the next call gets, `memory` any structure of
tensors [rows, ...] that every call gets, such as the sentences to translate, and `notes` any structure of tensors
[rows, ...] about the next word, such as the attention it was chosen with; a search hands back the notes of every word
of its results. A row is one beginning of one result; those of finished sentences leave (`tfnmt.search.compaction`), so
what has rows is in states or memory. Nothing here knows what the words are.

Where a comparison stretches one side, it is written `tf.equal`: in a graph, the shape of `==` would be unknown.
"""

import tensorflow as tf

from tfnmt.configuration import require

NEVER = -1e9  # the log-probability of what must not be chosen; finite, so that sums stay numbers
UNLIKELY = -100.0  # and of what nothing but a prefix would choose


def without(step, banned):
    """`step`, never choosing the words `banned` (a list of ids)."""

    def without_banned(ids, states, memory):
        log_probabilities, states, notes = step(ids, states, memory)
        rows, words = tf.meshgrid(tf.range(tf.shape(ids)[0]), tf.constant(banned, tf.int32))
        places = tf.stack([tf.reshape(rows, [-1]), tf.reshape(words, [-1])], axis=1)
        # Written in place, which takes no pass over all words.
        never = tf.fill(tf.shape(places)[:1], NEVER)
        return tf.tensor_scatter_nd_update(log_probabilities, places, never), states, notes

    return without_banned


def at_least(step, states, minimum_lengths, end):
    """`step` and its first states, never choosing `end` before a result has int32 [batch] `minimum_lengths` words.

    Where a sentence's maximum length is less, that holds.
    """

    def longer(ids, states, memory):
        inner, missing = states
        log_probabilities, inner, notes = step(ids, inner, memory)
        too_early = (missing[:, tf.newaxis] > 0) & (_words(log_probabilities) == end)
        return tf.where(too_early, NEVER, log_probabilities), (inner, missing - 1), notes

    return longer, (states, minimum_lengths)


def after_prefix(step, states, prefix):
    """`step` and its first states, choosing the words of `prefix` first: int32 [batch, length], 0 after the last.

    A word of the prefix that `step` never chooses is chosen all the same, and counts as `UNLIKELY`.
    """

    def forced(ids, states, memory):
        inner, left = states
        log_probabilities, inner, notes = step(ids, inner, memory)
        word = left[:, :1]
        only_word = tf.where(tf.equal(_words(log_probabilities), word), tf.maximum(log_probabilities, UNLIKELY), NEVER)
        log_probabilities = tf.where(word == 0, log_probabilities, only_word)
        return log_probabilities, (inner, tf.pad(left[:, 1:], [[0, 0], [0, 1]])), notes

    return forced, (states, tf.pad(prefix, [[0, 0], [0, 1]]))


def without_repetition(step, states, n, maximum_lengths):
    """`step` and its first states, never writing the same n words in a row twice in one result."""
    require(n >= 1, "n", n, "a whole number from 1")
    width = tf.maximum(tf.reduce_max(maximum_lengths), 0) + 1  # an empty batch has no maximum
    written = tf.zeros([tf.shape(maximum_lengths)[0], width], tf.int32)  # the start word first; 0 is not yet written
    count = tf.zeros_like(maximum_lengths)

    def fresh(ids, states, memory):
        inner, written, count = states
        place = tf.equal(tf.range(width), count[:, tf.newaxis])
        written, count = tf.where(place, ids[:, tf.newaxis], written), count + 1
        log_probabilities, inner, notes = step(ids, inner, memory)
        return _without_known(log_probabilities, written, count, n), (inner, written, count), notes

    return fresh, (states, written, count)


def _without_known(log_probabilities, written, count, n):
    """Ban every word that followed, anywhere in `written`, the n − 1 words that are its last."""
    starts = tf.range(1, tf.maximum(tf.shape(written)[1] - n, 0) + 1)  # the start word, at 0, is no part of the result
    same = starts + n <= count[:, tf.newaxis]  # what follows is written already
    for i in range(n - 1):
        last = tf.gather(written, tf.maximum(count - (n - 1) + i, 0), batch_dims=1)
        same &= tf.equal(tf.gather(written, starts + i, axis=1), last[:, tf.newaxis])
    rows, at = tf.unstack(tf.cast(tf.where(same), tf.int32), axis=1)
    followers = tf.gather_nd(written, tf.stack([rows, at + n], axis=1))
    updates = tf.fill(tf.shape(rows), NEVER)
    return tf.tensor_scatter_nd_min(log_probabilities, tf.stack([rows, followers], axis=1), updates)


def ensemble(steps):
    """A step that takes the mean of the probabilities of several, over tuples of their states and memories.

    The notes are the mean of theirs, which must be float and of one shape.
    """

    def mean(ids, states, memory):
        results = [step(ids, *own) for step, *own in zip(steps, states, memory, strict=True)]
        log_probabilities, states, notes = zip(*results, strict=True)
        together = tf.reduce_logsumexp(tf.stack(log_probabilities), axis=0) - tf.math.log(float(len(steps)))
        return together, states, tf.nest.map_structure(lambda *of_all: tf.add_n(of_all) / len(steps), *notes)

    return mean


def _words(log_probabilities):
    return tf.range(tf.shape(log_probabilities)[1])
