"""Outcomes of a classifier, counted by hand."""

import numpy as np
import pytest

from tfnmt.classification.outcomes import Outcomes, accuracy_by_length, confusion_matrix, mcnemar, text_of


def outcomes(right, labels=None, words=None):
    right = np.array(right, bool)
    labels = np.zeros(len(right), int) if labels is None else np.array(labels)
    words = np.ones(len(right), int) if words is None else np.array(words)
    return Outcomes(labels, np.where(right, labels, labels + 1), words)


def test_mcnemar_of_six_examples_that_divide_two_models():
    one = outcomes([1, 0, 0, 0, 0, 0, 1, 0])
    other = outcomes([0, 1, 1, 1, 1, 1, 1, 0])
    assert mcnemar(one, other) == pytest.approx(2 * (1 + 6) / 2**6)
    assert mcnemar(other, one) == pytest.approx(2 * (1 + 6) / 2**6)


def test_models_that_agree_are_equally_good():
    assert mcnemar(outcomes([1, 0]), outcomes([1, 0])) == 1.0


def test_many_examples_do_not_overflow():
    one, other = outcomes([1] * 6000 + [0] * 4000), outcomes([0] * 6000 + [1] * 4000)
    assert 0 < mcnemar(one, other) < 1e-80


def test_other_examples_cannot_be_compared():
    with pytest.raises(ValueError, match="not of the same examples"):
        mcnemar(outcomes([1, 1]), outcomes([1, 1], labels=[0, 1]))


def test_accuracy_by_length_has_every_example_once():
    words = [3, 3, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9]
    by_length = accuracy_by_length(outcomes([1, 1, 0] + [1] * 9, words=words))
    assert sum(count for count, _ in by_length.values()) == 12
    assert by_length["3-5"] == (5, pytest.approx(4 / 5))


def test_one_length_is_one_bin():
    assert accuracy_by_length(outcomes([1, 0])) == {"1": (2, 0.5)}


def test_confusion_matrix_and_text():
    each = Outcomes(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), np.array([2, 2, 2, 2]))
    np.testing.assert_array_equal(confusion_matrix(each, 3), [[1, 1, 0], [0, 1, 0], [1, 0, 0]])
    lines = text_of(each, ("yes", "no", "perhaps")).splitlines()
    assert lines[-4].split() == ["yes", "no", "perhaps"]
    assert [line.split() for line in lines[-3:]] == [
        ["yes", "1", "1", "0"],
        ["no", "0", "1", "0"],
        ["perhaps", "1", "0", "0"],
    ]
