"""Outcomes of a classifier, counted by hand."""

import numpy as np
import pytest

from tfnmt.classification.outcomes import Outcomes, accuracy_by_length, confusion_matrix, mcnemar, text_of


def outcomes(right, labels=None, words=None):
    right = np.array(right, bool)
    labels = np.zeros(len(right), int) if labels is None else np.array(labels)
    words = np.ones(len(right), int) if words is None else np.array(words)
    return Outcomes(np.arange(len(right)), labels, np.where(right, labels, labels + 1), words)


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


def test_models_with_other_examples_in_another_order_are_compared_on_those_of_both():
    one, other = outcomes([1, 0, 0, 0, 0, 0, 1, 0]), outcomes([0, 1, 1, 1, 1, 1, 1, 0])
    backwards = Outcomes(*(array[::-1] for array in other))
    assert mcnemar(one, backwards) == pytest.approx(2 * (1 + 6) / 2**6)
    without_the_first = Outcomes(*(array[:-1] for array in backwards))
    assert mcnemar(one, without_the_first) == mcnemar(without_the_first, one) == pytest.approx(2 / 2**5)


@pytest.mark.parametrize(
    "words, bins",
    [
        ([3, 3, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9], {"3": 3, "4-5": 2, "6-7": 2, "8-9": 5}),
        ([1] * 50 + [2] * 50, {"1": 50, "2": 50}),
        ([3] * 40 + [4] * 30 + [5] * 30, {"3": 40, "4": 30, "5": 30}),
        ([1] * 90 + list(range(2, 12)), {"1": 90, "2-11": 10}),
    ],
)
def test_accuracy_by_length_has_every_example_once(words, bins):
    shortest = np.array(words) == min(words)
    by_length = accuracy_by_length(outcomes(shortest, words=words))
    assert {name: count for name, (count, _) in by_length.items()} == bins
    assert [accuracy for _, accuracy in by_length.values()] == [1, *[0] * (len(bins) - 1)]


def test_one_length_is_one_bin():
    assert accuracy_by_length(outcomes([1, 0])) == {"1": (2, 0.5)}


def test_text_of_accuracy_by_length():
    lines = text_of(outcomes([1, 0, 0, 0, 1], words=[2, 2, 2, 2, 5]), ("a", "b")).splitlines()
    assert [line.split() for line in lines[2:4]] == [["2", "4", "0.2500"], ["3-5", "1", "1.0000"]]


def test_confusion_matrix_and_text():
    each = Outcomes(np.arange(4), np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), np.array([2, 2, 2, 2]))
    np.testing.assert_array_equal(confusion_matrix(each, 3), [[1, 1, 0], [0, 1, 0], [1, 0, 0]])
    lines = text_of(each, ("yes", "no", "perhaps")).splitlines()
    assert lines[-4].split() == ["yes", "no", "perhaps"]
    assert [line.split() for line in lines[-3:]] == [
        ["yes", "1", "1", "0"],
        ["no", "0", "1", "0"],
        ["perhaps", "1", "0", "0"],
    ]
