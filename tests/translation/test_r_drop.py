"""R-Drop: the loss of two predictions by hand, and of a batch in parts."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.translation.test_translator import SMALL, copies, made
from tfnmt.errors import UserError
from tfnmt.training.losses import MaskedCrossEntropy
from tfnmt.translation.configuration import TranslatorConfiguration

WEIGHT = 3.0


def scripted(model, logits):
    """Let `model` predict one of `logits` at each call, and nothing once they are used up; gradients are 0."""
    following = iter(logits)

    def call(inputs, training=False):
        return next(following) + tf.add_n([0.0 * tf.reduce_sum(weight) for weight in model.trainable_weights])

    model.call = call
    return model


def log_softmax(logits):
    logits = logits.astype(np.float64)
    return logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))


def expected_loss(labels, p_logits, q_logits, mean):
    """(L₁ + L₂)/2 of α/2 (KL(p‖q) + KL(q‖p)) and of −log p(label) − log q(label), in plain NumPy."""
    log_p, log_q = log_softmax(p_logits), log_softmax(q_logits)
    p, q = np.exp(log_p), np.exp(log_q)
    divergence = np.sum(p * (log_p - log_q), axis=-1) + np.sum(q * (log_q - log_p), axis=-1)
    nll = -np.take_along_axis(log_p + log_q, labels[..., np.newaxis], axis=-1)[..., 0]
    sums = np.sum(np.where(labels != 0, nll + WEIGHT / 2 * divergence, 0)) / 2
    return sums / (np.sum(labels != 0) if mean == "words" else len(labels))


@pytest.mark.parametrize("mean", ["words", "sentences"])
def test_the_loss_of_two_predictions_by_hand(mean):
    inputs, labels = copies(5)
    p, q = np.random.default_rng(2).normal(size=[2, *labels.shape, 10]).astype(np.float32)
    expected = expected_loss(labels, p, q, mean)
    model = scripted(made(**SMALL, word_dropout=0.1, r_drop_weight=WEIGHT), [q, q])
    model.compile(loss=MaskedCrossEntropy(mean=mean))
    ((value, count),) = model.loss_terms(inputs, labels, p)
    assert float(value) == pytest.approx(expected, rel=1e-5)
    assert int(count) == (np.sum(labels != 0) if mean == "words" else 5)
    assert float(model.compute_loss(inputs, labels, p)) == pytest.approx(expected, rel=1e-5)
    alone = model.compute_loss(inputs, labels, p, training=False)
    assert float(alone) == pytest.approx(float(MaskedCrossEntropy(mean=mean)(labels, p)), rel=1e-6)


@pytest.mark.parametrize("micro_batches", [1, 2, 3])
def test_a_batch_in_parts_has_the_loss_of_the_whole(micro_batches):
    inputs, labels = copies(7)
    p, q = np.random.default_rng(3).normal(size=[2, *labels.shape, 10]).astype(np.float32)
    parts = [slice(i, None, micro_batches) for i in range(micro_batches)]
    logits = [tf.constant(each[part]) for each in (p, q) for part in parts]
    model = made(**SMALL, word_dropout=0.1, r_drop_weight=WEIGHT, micro_batches=micro_batches)
    scripted(model, logits)
    model.compile(keras.optimizers.SGD(0.0), MaskedCrossEntropy(), run_eagerly=True)
    batch = tf.data.Dataset.from_tensors((inputs, labels))
    (loss,) = model.fit(batch, shuffle=False, verbose=0).history["loss"]
    assert loss == pytest.approx(expected_loss(labels, p, q, "words"), rel=1e-5)


@pytest.mark.parametrize("loss", [keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0), [None]])
def test_other_losses_count_words(loss):
    """One of Keras's own, and one in a list."""
    inputs, labels = copies(5)
    p, q = np.random.default_rng(2).normal(size=[2, *labels.shape, 10]).astype(np.float32)
    model = scripted(made(**SMALL, word_dropout=0.1, r_drop_weight=WEIGHT), [q])
    model.compile(loss=[MaskedCrossEntropy()] if loss == [None] else loss)
    assert float(model.compute_loss(inputs, labels, p)) == pytest.approx(expected_loss(labels, p, q, "words"), rel=1e-5)


def test_weights_of_losses_are_refused():
    model = made(**SMALL, word_dropout=0.1, r_drop_weight=WEIGHT)
    model.compile("sgd", loss=MaskedCrossEntropy(), loss_weights=[2.0])
    with pytest.raises(ValueError, match="loss_weights has no effect on a batch in parts, or with further terms"):
        model.train_on_batch(*copies(4))


def test_weights_of_examples_are_refused():
    model, (inputs, labels) = made(**SMALL, word_dropout=0.1, r_drop_weight=WEIGHT), copies(4)
    model.compile(loss=MaskedCrossEntropy())
    with pytest.raises(ValueError, match="sample_weight is not taken"):
        model.compute_loss(inputs, labels, model(inputs), sample_weight=tf.ones([4]))


def test_several_losses_are_refused():
    model = made(**SMALL, word_dropout=0.1, r_drop_weight=WEIGHT)
    model.compile(loss=[MaskedCrossEntropy(), MaskedCrossEntropy()])
    with pytest.raises(ValueError, match="there is not one loss but 2: compile the model with one"):
        model.loss_terms(*copies(4), None)


@pytest.mark.slow
@pytest.mark.parametrize("micro_batches", [1, 2])
def test_training_has_two_dropout_masks_and_learns(micro_batches):
    model = made(**SMALL, output_dropout=0.3, r_drop_weight=1.0, micro_batches=micro_batches)
    (inputs, labels), loss = copies(), MaskedCrossEntropy()
    model.compile(keras.optimizers.Adam(0.02), loss)
    before = model.evaluate(inputs, labels, verbose=0)
    of_one = loss(labels, model(inputs, training=True))
    of_two = model.compute_loss(inputs, labels, model(inputs, training=True))
    assert float(of_two) > float(of_one) + 0.01
    model.fit(inputs, labels, batch_size=64, epochs=30, verbose=0)
    assert model.evaluate(inputs, labels, verbose=0) < before - 0.5


@pytest.mark.parametrize("options", [{}, {"scheduled_sampling": 0.1, "word_dropout": 0.1}])
def test_without_dropout_or_with_drawn_words_it_is_refused(options):
    with pytest.raises(UserError, match="r_drop_weight=1.0: allowed is 0 without dropout, and with scheduled_sampling"):
        TranslatorConfiguration(r_drop_weight=1.0, **options)


def test_the_regularizer_of_a_weight_counts_beside_it():
    inputs, labels = copies(5)
    losses = []
    for regularizer in (None, keras.regularizers.L2(0.5)):
        q = np.random.default_rng(2).normal(size=[*labels.shape, 10]).astype(np.float32)
        model = scripted(made(**SMALL, word_dropout=0.1, r_drop_weight=WEIGHT), [q])
        model.compile(loss=MaskedCrossEntropy())
        model.decoder.w.regularizer = regularizer
        losses.append(float(model.compute_loss(inputs, labels, q)))
    expected = 0.5 * np.sum(model.decoder.w.numpy() ** 2)
    assert losses[1] - losses[0] == pytest.approx(expected, rel=1e-4)
