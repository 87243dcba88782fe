"""REINFORCE on a policy so small that all draws can be enumerated."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tests.classification.test_classifier import made
from tfnmt.classification import running_rewards
from tfnmt.classification.reinforce import (
    baselines,
    loss_terms,
    mean_entropy,
    mean_likelihood_loss,
    mean_likelihoods,
    reinforce_loss,
)
from tfnmt.classification.running_rewards import RunningStandardization
from tfnmt.text.brackets import PAD, REDUCE, SHIFT

REWARDS = tf.constant([1.0, -0.5, 3.0])  # of each of three parses


def test_the_baseline_is_the_mean_reward_of_the_other_draws():
    rewards = tf.constant([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]])
    np.testing.assert_allclose(baselines(rewards), [[4, 3.5, 1.5], [1.5, 1.5, 0]])
    np.testing.assert_allclose(baselines(tf.constant([[1.0], [2.0], [6.0]])), [[4], [3.5], [1.5]])
    np.testing.assert_allclose(baselines(tf.constant([[5.0]])), [[0]])


def test_the_reinforce_gradient_is_unbiased():
    """Over all pairs of draws, each as probable as the policy has it, it is −∇ Σ_k p_k R_k."""
    logits = tf.Variable([0.3, -0.2, 0.9])
    with tf.GradientTape() as tape:
        expected_loss = -tf.reduce_sum(tf.nn.softmax(logits) * REWARDS)
    expected = tape.gradient(expected_loss, logits).numpy()
    p = tf.nn.softmax(logits).numpy()
    np.testing.assert_allclose(expected, -p * (REWARDS.numpy() - p @ REWARDS.numpy()), rtol=1e-5)
    np.testing.assert_allclose(average_gradient(with_baselines, logits, draws=2), expected, rtol=1e-5)


def with_baselines(log_policy, rewards):
    return reinforce_loss(log_policy, rewards - baselines(rewards))


def test_rewards_with_running_averages_by_hand():
    """Batches 0, 4 and 2, 10: their mean is 2, then 4; the mean of their squares 8, then 30."""
    standardize = RunningStandardization()
    np.testing.assert_allclose(standardize(tf.constant([[0.0], [4.0]])), [[-1], [1]])
    expected = np.array([[-2], [6]]) / np.sqrt(14)
    np.testing.assert_allclose(standardize(tf.constant([[2.0], [10.0]])), expected, rtol=1e-5)
    assert len(standardize.weights) == 3 and not standardize.trainable_weights


def test_the_running_baseline_takes_the_place_of_the_other_draws():
    """By hand: the rewards 1, 0 and 1, 1 have the mean 3/4 and the variance 3/16."""
    model = made("rl-spinn", "listops", samples=2, reward="accuracy", baseline="running")
    predictions = {
        "logits": 9 * tf.one_hot([1, 0, 2, 2], 10),
        "log_probability": tf.constant([-1.0, -2.0, -3.0, -5.0]),
        "transition_logits": tf.zeros([4, 1, 2]),
        "transitions": tf.ones([4, 1], tf.int32),
    }
    labels = tf.constant([1, 1, 2, 2])
    _, (policy, _), _ = loss_terms(model.configuration, labels, predictions, 0.0, model.standardize)
    np.testing.assert_allclose(policy, (1 - 3 * 2 + 3 + 5) / 4 / 4 / np.sqrt(3 / 16), rtol=1e-5)


def test_running_averages_forget(monkeypatch):
    """From the third batch on, each has a weight of a half: the mean of 0, 0, 8 is 4, and with another 8 it is 6."""
    monkeypatch.setattr(running_rewards, "LONGEST", 2)
    standardize = RunningStandardization()
    for reward, mean in ((0.0, 0.0), (0.0, 0.0), (8.0, 4.0), (8.0, 6.0)):
        standardize(tf.fill([2, 1], reward))
        np.testing.assert_allclose(standardize.mean, mean)


def test_rewards_that_are_all_the_same_earn_nothing():
    np.testing.assert_array_equal(RunningStandardization()(tf.fill([3, 2], -1.5)), np.zeros([3, 2]))


def test_the_mean_likelihood_gradient_is_unbiased():
    """Over all triples of draws, it is −∇ Σ π_i π_j π_k log ((p_i + p_j + p_k) / 3)."""
    logits = tf.Variable([0.3, -0.2, 0.9])
    likelihoods = np.exp(REWARDS.numpy() - 4)
    with tf.GradientTape() as tape:
        policy = tf.nn.softmax(logits)
        expected_loss = -sum(
            tf.reduce_prod(tf.gather(policy, draws)) * np.log(np.mean(likelihoods[list(draws)]))
            for draws in itertools.product(range(3), repeat=3)
        )
    expected = tape.gradient(expected_loss, logits)
    np.testing.assert_allclose(
        average_gradient(mean_likelihood_loss, logits, draws=3, rewards=REWARDS - 4), expected, rtol=1e-4
    )


def average_gradient(loss_of, logits, draws, rewards=REWARDS):
    """A loss's gradient by the logits, over all draws of so many parses, each as probable as the policy has it."""
    policy, average = tf.nn.softmax(logits).numpy(), np.zeros(3)
    for drawn in itertools.product(range(3), repeat=draws):
        with tf.GradientTape() as tape:
            loss = loss_of(tf.gather(tf.nn.log_softmax(logits), [drawn]), tf.gather(rewards, [drawn]))
        average += np.prod(policy[list(drawn)]) * tape.gradient(loss, logits).numpy()
    return average


def test_a_draw_that_adds_nothing_to_the_others_has_no_advantage():
    """By hand: of likelihoods .5 and .5, L = log .5 as without either; of .8 and .2, L = log .5, log .2 or log .8."""
    log_p = tf.math.log([[0.5, 0.5], [0.8, 0.2]])
    np.testing.assert_allclose(mean_likelihoods(log_p), np.log([0.5, 0.5]), rtol=1e-6)
    log_policy = tf.Variable([[-1.0, -2.0], [-3.0, -4.0]])
    with tf.GradientTape() as tape:
        loss = mean_likelihood_loss(log_policy, log_p)
    earned = [[0, 0], [np.log(0.5 / 0.2), np.log(0.5 / 0.8)]]
    np.testing.assert_allclose(-2 * tape.gradient(loss, log_policy), earned, atol=1e-6)
    np.testing.assert_allclose(loss, (3 * earned[1][0] + 4 * earned[1][1]) / 2, rtol=1e-5)


def test_entropy_ignores_padding():
    logits = np.log([[[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]]]).astype(np.float32)
    expected = (np.log(2) - 0.9 * np.log(0.9) - 0.1 * np.log(0.1)) / 2
    np.testing.assert_allclose(mean_entropy(logits, tf.constant([[SHIFT, REDUCE, PAD]])), expected, rtol=1e-5)


@pytest.mark.parametrize("reward", ["log_likelihood", "mean_likelihood"])
def test_labels_are_smoothed_for_the_classes_and_not_for_the_reward(reward):
    model = made("rl-spinn", "listops", samples=2, reward=reward)
    predictions = {
        "logits": tf.constant(np.random.default_rng(1).normal(size=[4, 10]), tf.float32),
        "log_probability": tf.constant([-1.0, -2.0, -3.0, -5.0]),
        "transition_logits": tf.zeros([4, 1, 2]),
        "transitions": tf.ones([4, 1], tf.int32),
    }
    labels = tf.constant([1, 1, 2, 2])
    plain, smooth = (loss_terms(model.configuration, labels, predictions, each) for each in (0.0, 0.3))
    assert abs(float(plain[0][0]) - float(smooth[0][0])) > 1e-3
    np.testing.assert_allclose(plain[1][0], smooth[1][0], rtol=1e-6)
