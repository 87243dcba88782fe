"""REINFORCE: learning to parse from the reward of sampled parses, without any given parse.

Williams 1992; for trees of sentences: Yogatama et al. 2017, arXiv:1611.09100. Several parses are drawn for each
sentence. The baseline of one is the mean reward of the others (Kool et al. 2019, "Buy 4 REINFORCE samples, get a
baseline for free!"), which does not depend on the draw itself, so the gradient is unbiased.

With a reward for each draw alone, training settles on regular trees before it can gain by the right ones. With the mean
likelihood of all draws as their common reward (VIMCO: Mnih and Rezende 2016, arXiv:1602.06725), it is enough that one
of them explains the label: the composition learns most from that one, and the parser is not punished for the others.
"""

import math
from collections.abc import Callable

import tensorflow as tf

from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.classification.losses import classification_loss, log_likelihoods
from tfnmt.text.brackets import PAD
from tfnmt.training.micro_batches import LossTerms


def loss_terms(
    configuration: ClassifierConfiguration,
    labels: tf.Tensor,
    predictions: dict[str, tf.Tensor],
    label_smoothing: float,
    standardize: Callable[[tf.Tensor], tf.Tensor] | None = None,
) -> LossTerms:
    """The terms of the loss of a classifier that samples parses: classes, policy and entropy.

    Args:
        configuration: its `reward`, `samples` and weights.
        labels: int32 [batch · samples].
        predictions: of the classifier in training. Of pairs there are twice as many parses as labels.
        label_smoothing: see `MaskedCrossEntropy`.
        standardize: with `baseline="running"`, a `RunningStandardization`.

    Returns:
        Pairs (mean, count): the loss is the sum of the means, and each is the mean of that many labels or transitions.
    """
    c, logits = configuration, predictions["logits"]
    # In float32, as rewards are, whatever the model computes in.
    log_policy, transition_logits = (
        tf.cast(predictions[name], tf.float32) for name in ("log_probability", "transition_logits")
    )

    def by_sample(values):
        """[batch · samples] → [batch, samples]."""
        return tf.reshape(values, [-1, c.samples])

    if c.reads_pairs:  # the pair's reward is for the parses of both sentences
        log_policy = tf.add(*tf.split(log_policy, 2))
    if c.reward == "mean_likelihood":
        class_loss = -tf.reduce_mean(mean_likelihoods(by_sample(log_likelihoods(labels, logits, label_smoothing))))
        policy_loss = mean_likelihood_loss(by_sample(log_policy), by_sample(log_likelihoods(labels, logits)))
    else:
        class_loss = classification_loss(labels, logits, label_smoothing)
        if c.reward == "accuracy":
            rewards = tf.cast(tf.argmax(logits, axis=-1, output_type=tf.int32) == labels, tf.float32)
        else:
            rewards = log_likelihoods(labels, logits)
        rewards = by_sample(rewards)
        advantages = standardize(rewards) if standardize else rewards - baselines(rewards)
        policy_loss = reinforce_loss(by_sample(log_policy), advantages)
    entropy = mean_entropy(transition_logits, predictions["transitions"])
    return [
        (class_loss, tf.size(labels)),
        (c.policy_weight * policy_loss, tf.size(labels)),
        (-c.entropy_weight * entropy, tf.math.count_nonzero(predictions["transitions"])),
    ]


def baselines(rewards: tf.Tensor) -> tf.Tensor:
    """The mean reward of the other draws: float [batch, samples] → the same shape.

    With a single draw of each example, the others are those of the other examples of the batch; of one in all, 0.
    """
    if rewards.shape[1] == 1:
        return tf.transpose(_means_of_others(tf.transpose(rewards)))
    return _means_of_others(rewards)


def _means_of_others(values):
    """In each row, the mean of the other columns: [rows, columns] → the same shape; 0 where there are none."""
    others = tf.cast(tf.shape(values)[1] - 1, values.dtype)
    return tf.math.divide_no_nan(tf.reduce_sum(values, axis=1, keepdims=True) - values, others)


def reinforce_loss(log_policy: tf.Tensor, advantages: tf.Tensor) -> tf.Tensor:
    """−(1/N) Σ (R − b) log π: its gradient by the parser's weights is, on average, that of −E[R].

    Args:
        log_policy: float [batch, samples], the log-probability log π of each draw, all its transitions together.
        advantages: float [batch, samples], R − b of each draw; no gradient goes through them.

    Returns:
        A scalar.
    """
    return -tf.reduce_mean(tf.stop_gradient(advantages) * log_policy)


def mean_likelihoods(log_p: tf.Tensor) -> tf.Tensor:
    """L = log (1/K) Σ_k p_k, the common reward of the K draws of each example: [batch, samples] → [batch]."""
    return tf.reduce_logsumexp(log_p, axis=1) - math.log(log_p.shape[1])


def mean_likelihood_loss(log_policy: tf.Tensor, log_p: tf.Tensor) -> tf.Tensor:
    """−(1/N) Σ (L − L₋ₖ) log π_k: its gradient by the parser's weights is, on average, that of −E[L].

    L₋ₖ is the baseline of draw k: L with the geometric mean of the other draws' likelihoods in place of its own
    (arXiv:1602.06725, equation 10).

    Args:
        log_policy: float [batch, samples], the log-probability log π_k of each draw.
        log_p: float [batch, samples], log p_k of the label with that draw; no gradient goes through it.

    Returns:
        A scalar; N is the size of the batch.
    """
    log_p, samples = tf.stop_gradient(log_p), log_p.shape[1]
    # [batch, k, samples]: row k has the mean of the others in place of draw k.
    replaced = tf.linalg.set_diag(tf.repeat(log_p[:, tf.newaxis], samples, axis=1), _means_of_others(log_p))
    baseline = tf.reduce_logsumexp(replaced, axis=2) - math.log(samples)
    advantages = mean_likelihoods(log_p)[:, tf.newaxis] - baseline
    return -tf.reduce_mean(tf.reduce_sum(advantages * log_policy, axis=1))


def mean_entropy(transition_logits: tf.Tensor, transitions: tf.Tensor) -> tf.Tensor:
    """The entropy −Σ_k p_k log p_k of the parser's distribution over transitions, the mean over all steps; a scalar.

    Args:
        transition_logits: float [sentences, steps, 2], very low for illegal transitions.
        transitions: int32 [sentences, steps], padded with PAD.
    """
    log_p = tf.nn.log_softmax(transition_logits)
    real = tf.cast(transitions != PAD, log_p.dtype)
    entropies = -tf.reduce_sum(tf.exp(log_p) * log_p, axis=-1)
    return tf.math.divide_no_nan(tf.reduce_sum(entropies * real), tf.reduce_sum(real))
