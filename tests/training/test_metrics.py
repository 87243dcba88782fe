"""Metrics are exact over all words of all batches, whatever the batches' sizes."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.training.metrics import Perplexity, TokenAccuracy

WORDS = 6
RANDOM = np.random.default_rng(1)


def batch(size, length):
    """Labels of which each row ends with some padding, and logits."""
    lengths = RANDOM.integers(1, length + 1, size=[size, 1])
    labels = np.where(np.arange(length) < lengths, RANDOM.integers(1, WORDS, size=[size, length]), 0)
    return labels.astype(np.int32), RANDOM.normal(size=[size, length, WORDS]).astype(np.float32)


BATCHES = [batch(4, 7), batch(1, 2), batch(3, 3)]


def of_all_words(value):
    """The mean of `value(label, logits of its place)` over every real word, one by one."""
    places = [
        (label, e)
        for labels, logits in BATCHES
        for label, e in zip(labels.ravel(), logits.reshape([-1, WORDS]), strict=True)
    ]
    return np.mean([value(label, e) for label, e in places if label != 0])


def measured(metric):
    for labels, logits in BATCHES:
        metric.update_state(tf.constant(labels), tf.constant(logits))
    return float(metric.result())


def test_perplexity():
    expected = np.exp(of_all_words(lambda label, e: np.log(np.sum(np.exp(e))) - e[label]))
    np.testing.assert_allclose(measured(Perplexity()), expected, rtol=1e-5)


def test_token_accuracy():
    expected = of_all_words(lambda label, e: float(np.argmax(e) == label))
    assert 0 < expected < 1
    np.testing.assert_allclose(measured(TokenAccuracy()), expected, rtol=1e-6)


@pytest.mark.parametrize("metric_class", [Perplexity, TokenAccuracy])
def test_padding_counts_for_nothing(metric_class):
    metric = metric_class()
    expected = measured(metric)
    metric.update_state(tf.zeros([5, 4], tf.int32), tf.ones([5, 4, WORDS]))
    assert float(metric.result()) == expected


@pytest.mark.parametrize("metric_class", [Perplexity, TokenAccuracy])
def test_reset_begins_anew(metric_class):
    metric = metric_class()
    first = measured(metric)
    metric.update_state(*(tf.constant(x) for x in batch(5, 5)))
    metric.reset_state()
    assert measured(metric) == first


@pytest.mark.parametrize("metric_class", [Perplexity, TokenAccuracy])
def test_round_trip_through_its_configuration(metric_class):
    metric = keras.metrics.deserialize(keras.metrics.serialize(metric_class(name="other")))
    assert isinstance(metric, metric_class)
    assert metric.name == "other"
