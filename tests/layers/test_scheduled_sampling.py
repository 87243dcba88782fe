"""Scheduled sampling: which words are replaced, by what, and that a search knows nothing of it."""

import numpy as np
import tensorflow as tf

from tests.translation.test_searcher import SOURCES, TARGETS, made
from tfnmt.layers.scheduled_sampling import ScheduledSampling

IDS = tf.constant([[2, 5, 6, 7], [2, 8, 0, 0]])


def certain(words, vocabulary_size=12):
    """Logits that leave no other word any probability."""
    return 1e3 * tf.one_hot(words, vocabulary_size)


def test_each_word_becomes_what_was_expected_at_the_place_before():
    """The second place reads what was drawn for the first, and so on; START and padding stay."""
    drawn = ScheduledSampling(1.0)(IDS, certain([[9, 10, 11, 4], [4, 9, 9, 9]]))
    np.testing.assert_array_equal(drawn, [[2, 9, 10, 11], [2, 4, 0, 0]])
    np.testing.assert_array_equal(ScheduledSampling(0.0)(IDS, certain(tf.zeros_like(IDS))), IDS)


def test_padding_and_start_are_never_drawn():
    logits = certain([[0, 2, 0, 2], [2, 0, 0, 0]]) + 1e2 * tf.one_hot(9, 12)
    np.testing.assert_array_equal(ScheduledSampling(1.0)(IDS, logits), [[2, 9, 9, 9], [2, 9, 0, 0]])


def test_a_part_of_the_words_is_drawn_anew_each_time():
    ids, layer = tf.fill([100, 20], 5), ScheduledSampling(0.25)
    first, second = (layer(ids, certain(tf.fill([100, 20], 7))).numpy() for _ in range(2))
    assert set(np.unique(first)) == {5, 7} and abs(np.mean(first[:, 1:] == 7) - 0.25) < 0.04
    assert not np.array_equal(first, second)


def test_only_training_reads_drawn_words():
    model = made(scheduled_sampling=1.0)
    source, target = model.source_ids(tf.constant(SOURCES[:4])), model.target_tokenizer.encode(TARGETS[:4]).to_tensor(0)
    inputs = {"source": source, "target": tf.pad(target, [[0, 0], [1, 0]], constant_values=2)}
    given = model.decoder(inputs["target"], model.encoder(source))
    np.testing.assert_allclose(model(inputs), given, atol=1e-6)
    assert not np.allclose(model(inputs, training=True), given, atol=1e-3)
