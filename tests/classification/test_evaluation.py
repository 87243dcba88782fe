"""How parses are compared, by hand."""

import numpy as np

from tfnmt.classification.evaluation import agreement, phrase_spans
from tfnmt.text.brackets import from_brackets


def test_phrases_of_a_tree():
    _, transitions = from_brackets("( ( a b ) ( c ( d e ) ) )")
    assert phrase_spans(np.array([*transitions, 0, 0])) == {(0, 2), (3, 5), (2, 5), (0, 5)}


def test_agreement():
    given = np.array([from_brackets("( ( a b ) ( c d ) )")[1], [1, *[0] * 6]])
    predicted = np.array([from_brackets("( ( ( a b ) c ) d )")[1], [1, *[0] * 6]])
    same = np.sum(given[0] == predicted[0]) + 1
    # Of ab, cd and abcd, the other tree has ab and abcd.
    assert agreement(predicted, given) == (same, 8, 2, 3)
    assert agreement(np.pad(predicted, [(0, 0), (0, 4)]), given) == (same, 8, 2, 3)
