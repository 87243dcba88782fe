"""Comparing parses, by hand."""

import numpy as np

from tfnmt.classification.evaluation import compare_parses, spans
from tfnmt.text.brackets import from_brackets


def test_spans_of_a_tree():
    _, transitions = from_brackets("( ( a b ) ( c ( d e ) ) )")
    assert spans(np.array([*transitions, 0, 0])) == {(0, 2), (3, 5), (2, 5), (0, 5)}


def test_compare_parses():
    given = np.array([from_brackets("( ( a b ) ( c d ) )")[1], [1, *[0] * 6]])
    predicted = np.array([from_brackets("( ( ( a b ) c ) d )")[1], [1, *[0] * 6]])
    same = np.sum(given[0] == predicted[0]) + 1
    # Of the spans ab, cd and abcd, the predicted tree has ab and abcd.
    assert compare_parses(predicted, given) == (same, 8, 2, 3)
    assert compare_parses(np.pad(predicted, [(0, 0), (0, 4)]), given) == (same, 8, 2, 3)
