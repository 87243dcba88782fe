"""Translations as lines of text, by hand."""

import pytest

from tfnmt.search.step import NEG_INF
from tfnmt.translation.formatting import formatted
from tfnmt.translation.postprocessing import Translations


def translations(texts, scores, alignments=None):
    return Translations(texts, scores, scores, None, None, None, alignments, None)


@pytest.mark.parametrize(
    ("n_best", "scores", "lines"),
    [
        (1, False, ["a b"]),
        (1, True, ["a b\t-0.5000"]),
        (3, False, ["7 ||| a b ||| -0.5000", "7 ||| c ||| -1.2346"]),
    ],
)
def test_as_many_lines_as_were_found(n_best, scores, lines):
    """The third was not."""
    found = translations([b"a b", b"c", b""][:n_best], [-0.5, -1.23456, NEG_INF][:n_best])
    assert list(formatted(7, found, n_best, scores)) == lines


def test_alignments_come_last():
    found = translations([b"a b"], [-0.5], [b"0-0 1-1"])
    assert list(formatted(0, found, 1, scores=False)) == ["a b\t0-0 1-1"]
    assert list(formatted(0, found, 2, scores=False)) == ["0 ||| a b ||| -0.5000 ||| 0-0 1-1"]


@pytest.mark.parametrize("n_best", [1, 2])
def test_a_sentence_of_which_no_translation_was_found_has_a_line_too(n_best):
    """Else the lines after it would be those of other sentences."""
    found = translations([b""] * n_best, [NEG_INF] * n_best)
    assert len(list(formatted(0, found, n_best, scores=False))) == 1
