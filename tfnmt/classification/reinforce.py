"""REINFORCE: learning to parse from what a parse is worth to the classifier, with no parse ever given.

Williams 1992; of sentences' trees: Yogatama et al. 2017, arXiv:1611.09100. Several parses of each sentence are drawn at
once; each one's baseline is what the others were worth (Kool et al. 2019, "Buy 4 REINFORCE samples, get a baseline for
free!"), so it does not depend on the draw whose gradient it serves, and the gradient stays right on average.

Where draws are rewarded one by one, whatever is regular wins before it pays to find the right trees. Rewarded together,
by their mean likelihood, it is enough that one of them explains the label: the composition learns most from that one,
and the parser is not punished for the others (VIMCO: Mnih and Rezende 2016, arXiv:1602.06725).
"""

import math

import tensorflow as tf

from tfnmt.text.brackets import NOTHING


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


def mean_likelihoods(log_likelihoods):
    """L = log (1/K) Σ_k p_k, what the K draws of each example are worth together: [batch, samples] → [batch]."""
    return tf.reduce_logsumexp(log_likelihoods, axis=1) - math.log(log_likelihoods.shape[1])


def mean_likelihood_loss(log_probabilities, log_likelihoods):
    """−(1/N) Σ (L − L₋ₖ) log π_k: its gradient is, on average, that of −E[L] by the parser's weights.

    L₋ₖ is the baseline of draw k: L with the geometric mean of the other draws' likelihoods in place of its own
    (arXiv:1602.06725, equation 10).

    Args:
        log_probabilities: float [batch, samples], log π_k of all transitions of a draw together.
        log_likelihoods: float [batch, samples], log p_k of the label with that draw; no gradient goes through them.

    Returns:
        A scalar; N is the size of the batch.
    """
    log_p, samples = tf.stop_gradient(log_likelihoods), log_likelihoods.shape[1]
    means_of_others = (tf.reduce_sum(log_p, axis=1, keepdims=True) - log_p) / (samples - 1)
    # [batch, k, samples]: row k has the mean of the others in place k.
    without = tf.linalg.set_diag(tf.repeat(log_p[:, tf.newaxis], samples, axis=1), means_of_others)
    baselines = tf.reduce_logsumexp(without, axis=2) - math.log(samples)
    advantages = mean_likelihoods(log_p)[:, tf.newaxis] - baselines
    return -tf.reduce_mean(tf.reduce_sum(advantages * log_probabilities, axis=1))


def mean_entropy(transition_logits, transitions):
    """The entropy of the parser's choices, the mean over all transitions, −Σ_k p_k log p_k.

    Args:
        transition_logits: float [sentences, steps, 2], very low for illegal moves.
        transitions: int32 [sentences, steps], NOTHING as padding.
    """
    log_p = tf.nn.log_softmax(transition_logits)
    real = tf.cast(transitions != NOTHING, log_p.dtype)
    entropies = -tf.reduce_sum(tf.exp(log_p) * log_p, axis=-1)
    return tf.math.divide_no_nan(tf.reduce_sum(entropies * real), tf.reduce_sum(real))
