"""REINFORCE: learning to parse from what a parse is worth to the classifier, with no parse ever given.

Williams 1992; of sentences' trees: Yogatama et al. 2017, arXiv:1611.09100. Several parses of each sentence are drawn at
once; each one's baseline is what the others were worth (Kool et al. 2019, "Buy 4 REINFORCE samples, get a baseline for
free!"), so it does not depend on the draw whose gradient it serves, and the gradient stays right on average.
"""

import tensorflow as tf

from tfnmt.text.parses import NOTHING


def baselines(rewards):
    """The mean reward of the other draws: float [batch, samples] → the same shape.

    With one draw of each, the others are those of the other examples in the batch; with one in all, 0.
    """
    others_of = rewards if rewards.shape[1] != 1 else tf.transpose(rewards)
    others = tf.cast(tf.shape(others_of)[1] - 1, rewards.dtype)
    means = tf.math.divide_no_nan(tf.reduce_sum(others_of, axis=1, keepdims=True) - others_of, others)
    return means if rewards.shape[1] != 1 else tf.transpose(means)


def reinforce_loss(log_probabilities, rewards):
    """−(1/N) Σ (R − b) log p: its gradient is, on average, that of −E[R] by the parser's weights.

    Args:
        log_probabilities: float [batch, samples], of all transitions of a draw together.
        rewards: float [batch, samples]; no gradient goes through them.

    Returns:
        A scalar.
    """
    rewards = tf.stop_gradient(rewards)
    return -tf.reduce_mean((rewards - baselines(rewards)) * log_probabilities)


def mean_entropy(transition_scores, transitions):
    """The entropy of the parser's choices, the mean over all transitions, −Σ_k p_k log p_k.

    Args:
        transition_scores: float [sentences, steps, 2], very low for illegal moves.
        transitions: int32 [sentences, steps], NOTHING as padding.
    """
    log_p = tf.nn.log_softmax(transition_scores)
    real = tf.cast(transitions != NOTHING, log_p.dtype)
    entropies = -tf.reduce_sum(tf.exp(log_p) * log_p, axis=-1)
    return tf.math.divide_no_nan(tf.reduce_sum(entropies * real), tf.reduce_sum(real))
