"""Beam search: keep the K most probable beginnings at each place, in the graph and over any step function."""

import tensorflow as tf

NEVER = -1e9  # the score of what must not be chosen; finite, so that sums stay numbers


def beam_search(step, states, start, end, maximum_lengths, beam_size, length_penalty=1.0):
    """Find the results y of the highest score log p(y) / |y|^length_penalty, |y| counting `end`.

    Every live beginning may end at each step; the K best ended ones are kept apart from the K best live ones,
    and a sentence is finished when no live one can still win.

    Args:
        step: `step(ids, states) -> (log_probabilities, states)` over rows [batch · beam_size], the beams of
            one sentence together.
        states: a tuple of tensors [batch, ...], the states before the first word.
        start, end: ids of the word before the first and after the last.
        maximum_lengths: int32 [batch], words of each result at most, without `end`.
        beam_size: K.
        length_penalty: exponent of the length; 0 compares sums of log-probabilities.

    Returns:
        (ids, scores): int32 [batch, beam_size, length], best first, 0 after the last word; and float
        [batch, beam_size], the normalised scores, `NEVER` where fewer than `beam_size` results exist.
    """
    batch = tf.shape(maximum_lengths)[0]
    longest = tf.reduce_max(maximum_lengths)
    final_norms = _norm(maximum_lengths + 1, length_penalty)
    states = tuple(tf.repeat(state, beam_size, axis=0) for state in states)
    first_row = beam_size * tf.range(batch)[:, tf.newaxis]

    def unfinished(i, ids, states, live, ended, history):
        best = tf.reduce_max(live, axis=1)
        can_win = (best > NEVER) & (best / final_norms > tf.reduce_min(ended[0], axis=1))
        return (i == 0) | ((i <= longest) & tf.reduce_any(can_win))

    def body(i, ids, states, live, ended, history):
        log_probabilities, states = step(tf.reshape(ids, [-1]), states)
        vocabulary_size = tf.shape(log_probabilities)[-1]
        log_probabilities = tf.reshape(log_probabilities, [batch, beam_size, vocabulary_size])

        # At its maximum length a beginning ends, without the word that says so.
        at_limit = (i >= maximum_lengths)[:, tf.newaxis]
        ending = live + tf.where(at_limit, 0.0, log_probabilities[:, :, end])
        scores = tf.where(live > NEVER, ending / _norm(i + 1, length_penalty), NEVER)
        ended = _keep_best(ended, scores, i, beam_size)

        without_end = tf.where(tf.range(vocabulary_size) == end, NEVER, 0.0)
        total = live[:, :, tf.newaxis] + log_probabilities + without_end
        live, chosen = tf.math.top_k(tf.reshape(total, [batch, -1]), beam_size)
        live = tf.where(at_limit, NEVER, tf.maximum(live, NEVER))
        parents, ids = chosen // vocabulary_size, chosen % vocabulary_size
        rows = tf.reshape(first_row + parents, [-1])
        history = (history[0].write(i, ids), history[1].write(i, parents))
        return i + 1, ids, tuple(tf.gather(state, rows) for state in states), live, ended, history

    # At first all beams are one beginning: only one of them is alive.
    live = tf.tile([[0.0] + [NEVER] * (beam_size - 1)], [batch, 1])
    nothing = tf.zeros([batch, beam_size], tf.int32)
    ended = (tf.fill([batch, beam_size], NEVER), nothing, nothing)
    empty = {"size": 0, "dynamic_size": True, "element_shape": [None, beam_size]}
    history = tuple(tf.TensorArray(tf.int32, **empty) for _ in range(2))
    first = (0, tf.fill([batch, beam_size], start), states, live, ended, history)
    *_, ended, history = tf.while_loop(unfinished, body, first)
    return _trace_back(ended, *(array.stack() for array in history)), ended[0]


def _norm(length, length_penalty):
    return tf.cast(length, tf.float32) ** length_penalty


def _keep_best(ended, scores, step, beam_size):
    """The best of what had ended and of what ends now: scores, the step at which each ends (its length), and
    its beam there.
    """
    shape = tf.shape(scores)
    now = (tf.maximum(scores, NEVER), tf.fill(shape, step), tf.broadcast_to(tf.range(beam_size), shape))
    both = [tf.concat(pair, axis=1) for pair in zip(ended, now, strict=True)]
    best, chosen = tf.math.top_k(both[0], beam_size)
    return (best, *(tf.gather(values, chosen, batch_dims=1) for values in both[1:]))


def _trace_back(ended, ids, parents):
    """Follow each ended result from its last word to its first.

    ids, parents: [steps, batch, beam]; returns [batch, beam, steps].
    """
    _, lengths, beams = ended
    steps = tf.shape(ids)[0]
    words = tf.TensorArray(tf.int32, size=steps, element_shape=[None, None])

    def body(i, beams, words):
        inside = i < lengths
        word = tf.gather(ids[i], beams, batch_dims=1)
        before = tf.gather(parents[i], beams, batch_dims=1)
        return i - 1, tf.where(inside, before, beams), words.write(i, tf.where(inside, word, 0))

    *_, words = tf.while_loop(lambda i, *_: i >= 0, body, (steps - 1, beams, words))
    return tf.transpose(words.stack(), [1, 2, 0])
