"""REINFORCE on a policy so small that every draw can be written down."""

import itertools

import numpy as np
import tensorflow as tf

from tfnmt.models.reinforce import baselines, mean_entropy, reinforce_loss
from tfnmt.text.parses import NOTHING, REDUCE, SHIFT

WORTH = tf.constant([1.0, -0.5, 3.0])  # of each of three parses


def test_each_draw_is_compared_with_the_others():
    rewards = tf.constant([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]])
    np.testing.assert_allclose(baselines(rewards), [[4, 3.5, 1.5], [1.5, 1.5, 0]])
    np.testing.assert_allclose(baselines(tf.constant([[1.0], [2.0], [6.0]])), [[4], [3.5], [1.5]])
    np.testing.assert_allclose(baselines(tf.constant([[5.0]])), [[0]])


def test_the_gradient_is_that_of_the_expected_reward_on_average():
    """Over all pairs of draws, each as probable as the policy has it, it is −∇ Σ_k p_k R_k."""
    logits = tf.Variable([0.3, -0.2, 0.9])
    with tf.GradientTape() as tape:
        expected_loss = -tf.reduce_sum(tf.nn.softmax(logits) * WORTH)
    expected = tape.gradient(expected_loss, logits).numpy()
    p = tf.nn.softmax(logits).numpy()
    np.testing.assert_allclose(expected, -p * (WORTH.numpy() - p @ WORTH.numpy()), rtol=1e-5)
    average = np.zeros(3)
    for draws in itertools.product(range(3), repeat=2):
        with tf.GradientTape() as tape:
            log_probabilities = tf.gather(tf.nn.log_softmax(logits), [draws])
            loss = reinforce_loss(log_probabilities, tf.gather(WORTH, [draws]))
        average += p[draws[0]] * p[draws[1]] * tape.gradient(loss, logits).numpy()
    np.testing.assert_allclose(average, expected, rtol=1e-5)


def test_entropy_counts_real_transitions():
    scores = np.log([[[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]]]).astype(np.float32)
    expected = (np.log(2) - 0.9 * np.log(0.9) - 0.1 * np.log(0.1)) / 2
    np.testing.assert_allclose(mean_entropy(scores, tf.constant([[SHIFT, REDUCE, NOTHING]])), expected, rtol=1e-5)
