"""The loss against NumPy, and its gradient against TensorFlow's own."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.training.losses import MaskedCrossEntropy, symmetric_divergences, word_losses
from tfnmt.training.metrics import Perplexity, TokenAccuracy

LABELS = np.array([[4, 1, 3, 0], [2, 3, 0, 0], [3, 0, 0, 0]], np.int32)
WORDS = 5
LOGITS = np.random.default_rng(1).normal(size=[*LABELS.shape, WORDS]).astype(np.float32)


def log_p(logits):
    return logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))


def smoothed(labels, logits, label_smoothing):
    """Σ_k q(k) · −log p(k), with q = (1 − ε) 1_label + ε/K."""
    q = (1 - label_smoothing) * np.eye(WORDS)[labels] + label_smoothing / WORDS
    return -np.sum(q * log_p(logits), axis=-1)


def test_arguments_that_are_none_are_refused():
    with pytest.raises(UserError, match="^mean=sentence: allowed is words or sentences$"):
        MaskedCrossEntropy(mean="sentence")
    for label_smoothing in (-0.1, 1.0):
        with pytest.raises(UserError, match="^label_smoothing=.*: allowed is 0 <= label_smoothing < 1$"):
            MaskedCrossEntropy(label_smoothing)


def test_word_losses_are_minus_log_p():
    expected = -np.take_along_axis(log_p(LOGITS), LABELS[..., np.newaxis], axis=-1)[..., 0]
    np.testing.assert_allclose(word_losses(LABELS, LOGITS), expected, rtol=1e-5)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 0.7])
def test_smoothed_losses(label_smoothing):
    expected = smoothed(LABELS, LOGITS, label_smoothing)
    np.testing.assert_allclose(word_losses(LABELS, LOGITS, label_smoothing), expected, rtol=1e-5)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 0.7])
def test_gradient_is_that_of_the_plain_formula(label_smoothing):
    logits = tf.constant(LOGITS)
    weights = np.random.default_rng(2).normal(size=LABELS.shape).astype(np.float32)
    q = tf.one_hot(LABELS, WORDS) * (1 - label_smoothing) + label_smoothing / WORDS
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(logits)
        ours = tf.reduce_sum(word_losses(tf.constant(LABELS), logits, label_smoothing) * weights)
        plain = -tf.reduce_sum(tf.reduce_sum(q * tf.nn.log_softmax(logits), axis=-1) * weights)
    np.testing.assert_allclose(tape.gradient(ours, logits), tape.gradient(plain, logits), atol=1e-6)


def test_symmetric_divergences_by_hand():
    """Of (1/2, 1/2) and (1/4, 3/4): ½ log 2 + ½ log ⅔ one way, ¼ log ½ + ¾ log 3/2 the other, in sum ¼ log 3."""
    p, q = np.log([[[1.0, 1.0], [2.0, 2.0]]]), np.log([[[1.0, 3.0], [5.0, 5.0]]])
    for e, f in ((p, q), (q, p)):
        np.testing.assert_allclose(symmetric_divergences(e, f), [[np.log(3) / 4, 0.0]], atol=1e-7)


def test_symmetric_divergences_are_the_plain_formula():
    other = np.random.default_rng(3).normal(scale=3, size=LOGITS.shape).astype(np.float32)
    logits, other = tf.constant(LOGITS), tf.constant(other)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([logits, other])
        ours = symmetric_divergences(logits, other)
        p, q = tf.nn.log_softmax(logits), tf.nn.log_softmax(other)
        plain = tf.reduce_sum((tf.exp(p) - tf.exp(q)) * (p - q), axis=-1)
    np.testing.assert_allclose(ours, plain, rtol=1e-5)
    for variable in (logits, other):
        np.testing.assert_allclose(tape.gradient(ours, variable), tape.gradient(plain, variable), atol=1e-5)
    large = symmetric_divergences(tf.constant([[[300.0, 0.0]]]), tf.constant([[[0.0, 300.0]]]))
    np.testing.assert_allclose(large, [[600.0]])


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_loss_is_the_mean_over_real_words(label_smoothing):
    expected = smoothed(LABELS, LOGITS, label_smoothing)[LABELS != 0].mean()
    loss = MaskedCrossEntropy(label_smoothing)
    np.testing.assert_allclose(loss(tf.constant(LABELS), tf.constant(LOGITS)), expected, rtol=1e-5)


def test_the_mean_over_sentences_by_hand():
    """Three sentences, uniform over 5 words: each word costs log 5. A row of padding alone is no sentence."""
    logits, labels = tf.zeros([4, 4, WORDS]), tf.constant(np.pad(LABELS, [(0, 1), (0, 0)]))
    of_words, of_sentences = MaskedCrossEntropy(), MaskedCrossEntropy(mean="sentences")
    assert of_words.count(labels) == 6 and of_sentences.count(labels) == 3
    assert of_words.count(labels[:1]) == 3 and of_sentences.count(labels[:1]) == 1
    np.testing.assert_allclose(of_words(labels, logits), np.log(5), rtol=1e-6)
    np.testing.assert_allclose(of_sentences(labels, logits), 6 * np.log(5) / 3, rtol=1e-6)


def test_the_mean_over_sentences_is_minus_the_posts_log_likelihood():
    """(1/N) Σ_n log P(Yⁿ | Xⁿ), where log P(Y | X) is the sum over the sentence's words."""
    log_likelihoods = [
        sum(log_p(LOGITS)[n, i, word] for i, word in enumerate(sentence) if word) for n, sentence in enumerate(LABELS)
    ]
    loss = MaskedCrossEntropy(mean="sentences")
    np.testing.assert_allclose(loss(tf.constant(LABELS), tf.constant(LOGITS)), -np.mean(log_likelihoods), rtol=1e-6)


def test_padding_changes_neither_loss_nor_gradient():
    loss = MaskedCrossEntropy(0.1)
    at_padding = np.where((LABELS == 0)[..., np.newaxis], 1e4, LOGITS).astype(np.float32)
    wider = np.pad(at_padding, [(0, 0), (0, 2), (0, 0)], constant_values=7.0)
    values, gradients = [], []
    for labels, logits in ((LABELS, LOGITS), (np.pad(LABELS, [(0, 0), (0, 2)]), wider)):
        logits = tf.constant(logits)
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = loss(tf.constant(labels), logits)
        values.append(value)
        gradients.append(tape.gradient(value, logits).numpy())
    np.testing.assert_allclose(*values, rtol=1e-6)
    narrow, wide = gradients
    np.testing.assert_allclose(wide[:, :4], narrow, atol=1e-7)
    assert not wide[:, 4:].any()
    assert not narrow[LABELS == 0].any()


def test_nothing_but_padding_has_no_loss():
    logits = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        value = MaskedCrossEntropy(0.1)(tf.zeros_like(LABELS), logits)
    assert value == 0
    assert not tape.gradient(value, logits).numpy().any()


def test_logits_in_half_precision():
    logits = tf.cast(LOGITS, tf.bfloat16)
    value = MaskedCrossEntropy(0.1)(LABELS, logits)
    assert value.dtype == tf.float32
    np.testing.assert_allclose(value, MaskedCrossEntropy(0.1)(LABELS, tf.cast(logits, tf.float32)), rtol=1e-6)


def test_round_trip_through_its_configuration():
    loss = keras.losses.deserialize(keras.losses.serialize(MaskedCrossEntropy(0.25, "sentences")))
    assert isinstance(loss, MaskedCrossEntropy)
    assert loss.label_smoothing == 0.25 and loss.mean == "sentences"


def test_weights_and_other_shapes_are_refused():
    for of in (MaskedCrossEntropy(), Perplexity().update_state, TokenAccuracy().update_state):
        with pytest.raises(ValueError, match="sample_weight is not taken"):
            of(LABELS, LOGITS, sample_weight=np.ones(3, np.float32))
    for of in (MaskedCrossEntropy(), Perplexity().update_state):
        with pytest.raises(ValueError, match="incompatible"):
            of(LABELS.T, LOGITS)
