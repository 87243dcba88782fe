"""Minimum risk training: the expected loss by hand, what is drawn, and that a model gets better by it."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.translation.test_translator import CHO2014, SMALL, copies, made
from tfnmt.text.tokenizers import END, START
from tfnmt.training.losses import MaskedCrossEntropy, word_losses
from tfnmt.translation.risk import draw_translations, expected_loss, risk
from tfnmt.translation.search_configuration import SearchConfiguration

SEED = tf.constant([3, 4])


def trained(epochs=30, **options):
    """A model that copies its source, with mistakes."""
    model = made(**SMALL | options)
    model.compile(keras.optimizers.Adam(0.02), MaskedCrossEntropy())
    model.fit(*copies(), batch_size=64, epochs=epochs, verbose=0)
    return model


def test_expected_loss_by_hand():
    """Of three translations, one drawn twice: p^½ of 4, 1 and 1 count, so Q is 1/2, 1/4 and 1/4."""
    p = tf.Variable([[16.0, 1.0, 16.0, 1.0]])
    losses, counted = tf.constant([[0.0, 1.0, 0.0, 0.5]]), tf.constant([[True, True, False, True]])
    with tf.GradientTape() as tape:
        log_p = tf.math.log(p / 16)
        value = expected_loss(log_p, losses, counted, sharpness=0.5)
    q, delta = np.array([4, 1, 0, 1]) / 6, losses.numpy()[0]
    np.testing.assert_allclose(value, [q @ delta], rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(value, log_p)[0], 0.5 * q * (delta - q @ delta), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("options", [SMALL, CHO2014], ids=["attention", "summary"])
def test_cold_draws_are_what_greedy_search_finds(options):
    model = trained(25, **options)
    inputs, labels = copies(9)
    ids = draw_translations(model, inputs["source"], labels, 2, 0.001, SEED).numpy()
    texts = model.source_tokenizer.decode(tf.RaggedTensor.from_tensor(tf.where(labels == END, 0, labels), padding=0))
    limits = {"maximum_length_factor": 1.5, "maximum_length_offset": 11}  # END is among the labels
    found = model.searcher(SearchConfiguration(beam_size=1, **limits)).find(texts)
    drawn = model.target_tokenizer.decode(tf.RaggedTensor.from_tensor(ids, padding=0)).numpy()
    np.testing.assert_array_equal(drawn, np.repeat(found.texts.numpy()[:, 0], 2))


def test_words_are_drawn_by_their_probabilities():
    model = made(**SMALL)
    model.decoder.b.assign(np.linspace(2, -2, 10))
    inputs, labels = copies(2)
    ids = draw_translations(model, inputs["source"], labels, 4000, 1.0, SEED).numpy()
    first = tf.fill([2, 1], START)
    logits = model({"source": inputs["source"], "target": first}).numpy()[:, 0]
    logits[:, [0, START]] = -np.inf  # padding and START are never written
    p = tf.nn.softmax(logits).numpy()
    words = np.where(ids[:, 0] == 0, END, ids[:, 0]).reshape(2, 4000)
    counts = np.stack([np.bincount(row, minlength=10) for row in words])
    np.testing.assert_allclose(counts / 4000, p, atol=0.03)
    assert not np.any(ids == START)


def test_a_seed_draws_the_same_again_and_another_does_not():
    model = made(**SMALL)
    inputs, labels = copies(4)
    first, again, other = (
        draw_translations(model, inputs["source"], labels, 3, 1.0, tf.constant(seed)).numpy()
        for seed in ([1, 2], [1, 2], [1, 3])
    )
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or np.any(first != other)


def test_seeds_of_replicas_draw_other_words_in_every_step():
    """Replicas have the seeds [s, n], [s + 1, n], …"""
    model = made(**SMALL)
    for weight in model.weights:
        weight.assign(tf.zeros_like(weight))
    (bias,) = (weight for weight in model.weights if weight.path == "decoder/b")
    bias.assign(tf.one_hot(END, 10, on_value=-9.0))  # every word is as probable as any other, and no text ends
    inputs, labels = copies(4)
    first, second = (
        draw_translations(model, inputs["source"], labels, 50, 1.0, tf.constant([s, 2])).numpy() for s in (1, 2)
    )
    assert first.shape == second.shape and np.mean(first[:, 1:] == second[:, :-1]) < 0.5


def test_it_is_the_expected_loss_of_the_draws():
    """As in plain Python: each different draw, its BLEU by sacrebleu, its probability by the model."""
    import sacrebleu

    model, alpha, samples = trained(5), 0.3, 6
    inputs, labels = copies(5)
    ids = draw_translations(model, inputs["source"], labels, samples, 1.0, SEED).numpy()
    metric = sacrebleu.BLEU(smooth_method="add-k", smooth_value=1, tokenize="none", effective_order=False)
    expected = []
    for n, label in enumerate(labels):
        drawn = sorted({tuple(row[row != 0]) for row in ids[n * samples : (n + 1) * samples]})
        weights, losses = [], []
        for words in drawn:
            target = np.array([[START, *words]], np.int32)
            logits = model({"source": inputs["source"][n : n + 1], "target": target})
            log_p = -np.sum(word_losses(np.array([[*words, END]]), logits))
            reference = " ".join(map(str, label[(label != 0) & (label != END)]))
            losses.append(1 - metric.sentence_score(" ".join(map(str, words)), [reference]).score / 100)
            weights.append(np.exp(alpha * log_p))
        expected.append(np.dot(weights, losses) / np.sum(weights))
    value = risk(model, inputs["source"], labels, samples, alpha, 1.0, SEED)
    assert float(value) == pytest.approx(np.mean(expected), abs=1e-4)


@pytest.mark.parametrize("rate", ["source_dropout", "target_dropout"])
def test_draws_are_trained_with_dropout_and_made_without(rate):
    model, (inputs, labels) = made(**SMALL, **{rate: 0.5}), copies(9)
    arguments = model, inputs["source"], labels, 4, 1.0, 1.0, SEED
    first, second = (float(risk(*arguments)) for _ in range(2))
    assert first != second
    drawn = [draw_translations(*arguments[:4], 1.0, SEED) for _ in range(2)]
    np.testing.assert_array_equal(*drawn)


@pytest.mark.slow
def test_translations_get_better_by_it_alone():
    """The risk of other draws than those that were learned from, and of other sources."""
    model, optimizer = trained(25), keras.optimizers.Adam(0.01)
    inputs, labels = copies()
    learned, other = slice(0, 32), slice(32, 64)

    @tf.function(autograph=False)
    def update(seed):
        with tf.GradientTape() as tape:
            value = risk(model, inputs["source"][learned], labels[learned], 8, 0.3, 0.7, seed)
        optimizer.apply_gradients(
            zip(tape.gradient(value, model.trainable_weights), model.trainable_weights, strict=True)
        )

    def mean_risk():
        return float(risk(model, inputs["source"][other], labels[other], 20, 0.001, 1.0, SEED))

    before = mean_risk()
    for number in range(40):
        update(tf.constant([7, number]))
    assert mean_risk() < before - 0.05


def test_the_loss_of_training_has_it_by_its_weight_and_options(monkeypatch):
    options = {"risk_samples": 3, "risk_sharpness": 0.5, "risk_temperature": 0.7}
    model, (inputs, labels) = made(**SMALL, risk_weight=2.0, **options), copies(4)
    model.compile(loss=MaskedCrossEntropy())
    given = []

    def recorded(model, source, labels, samples, sharpness, temperature, seed):
        given.append((samples, sharpness, temperature))
        return 0.25

    monkeypatch.setattr("tfnmt.translation.translator.risk", recorded)
    logits = model(inputs)
    in_training, alone = (model.compute_loss(inputs, labels, logits, training=training) for training in (True, False))
    assert given == [(3, 0.5, 0.7)]
    assert float(in_training - alone) == pytest.approx(2.0 * 0.25, rel=1e-5)


def test_it_is_no_part_of_the_dev_loss():
    plain, model = made(**SMALL), made(**SMALL, risk_weight=100.0)
    model.set_weights(plain.get_weights())
    for each in (plain, model):
        each.compile(loss=MaskedCrossEntropy())
    np.testing.assert_allclose(*(each.evaluate(*copies(), verbose=0) for each in (plain, model)), rtol=1e-6)


@pytest.mark.slow
def test_micro_batches_count_by_their_sentences():
    """With almost no temperature the draws are the same however a batch is divided, and so is the loss."""
    inputs, labels = copies(7)
    losses = []
    for micro_batches in (1, 2):
        model = made(**SMALL, micro_batches=micro_batches, risk_weight=2.0, risk_temperature=0.001, risk_sharpness=1.0)
        model.compile(keras.optimizers.SGD(0.0), MaskedCrossEntropy(), run_eagerly=True)
        batch = tf.data.Dataset.from_tensors((inputs, labels))
        losses.append(model.fit(batch, shuffle=False, verbose=0).history["loss"][0])
    plain = made(**SMALL)
    plain.compile(loss=MaskedCrossEntropy())
    alone = plain.evaluate(inputs, labels, verbose=0)
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert alone < losses[0] <= alone + 2.0


def test_a_draw_has_as_many_tokens_as_its_own_target_lets_it():
    model = made(**SMALL)
    model.decoder.b.assign(tf.one_hot(END, 10, on_value=-1000.0))  # no draw ends by itself
    inputs, labels = copies(4)
    ids = draw_translations(model, inputs["source"], labels, 2, 1.0, SEED).numpy()
    lengths = np.count_nonzero(labels, axis=1)
    np.testing.assert_array_equal(np.count_nonzero(ids, axis=1), np.repeat((1.5 * lengths).astype(int) + 10, 2))
