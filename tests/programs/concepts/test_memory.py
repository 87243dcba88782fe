"""Sequences whose first step is to be remembered, and recurrences that try."""

import numpy as np

from tfnmt_programs.concepts.memory import recurrent_classifier, remembers, sequences


def test_only_the_marked_sign_tells_the_class():
    inputs, labels = sequences(50, 6, seed=1)
    np.testing.assert_array_equal(inputs[:, 0, 0], 2 * labels - 1)
    assert inputs[:, 0, 1].all() and not inputs[:, 1:, 1].any()
    assert set(np.unique(inputs[:, :, 0])) == {-1, 1} and abs(inputs[:, 1:, 0].mean()) < 0.2


def test_both_recurrences_read_them():
    inputs, _ = sequences(3, 4, seed=2)
    for kind in ("LSTM", "simple"):
        assert recurrent_classifier(kind, 4, seed=1)(inputs).shape == (3, 1)


def test_over_few_steps_an_lstm_remembers():
    assert remembers("LSTM", 3, steps=40) > 0.9
