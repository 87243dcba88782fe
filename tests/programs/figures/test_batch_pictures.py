"""Which nodes of a batch are composed together, and the picture of it."""

import numpy as np
import pytest

from tfnmt.inspection.trees import tree_children
from tfnmt.text.brackets import REDUCE, from_brackets
from tfnmt_programs.figures.batch_pictures import PAIR, composed_by_depth, composed_by_step, draw_batch, phrase

TREES = [from_brackets(brackets) for brackets in PAIR]


def depth_of(transitions, node):
    """How many phrases the node lies in, counted on the way up to the root."""
    left_and_right = tree_children(transitions)
    above = [i for i, pair in enumerate(left_and_right) if transitions[i] == REDUCE and node in pair]
    return 1 + depth_of(transitions, above[0]) if above else 0


def test_phrases_of_one_depth_are_composed_together():
    iterations, _ = composed_by_depth(TREES)
    assert [phrase(*TREES[sentence], node) for sentence, node in iterations[0]] == [
        "( the ceiling )",
    ]
    assert [phrase(*TREES[sentence], node) for sentence, node in iterations[-1]] == list(PAIR)
    for depth, made in enumerate(reversed(iterations)):
        assert {depth_of(TREES[sentence][1], node) for sentence, node in made} == {depth}


@pytest.mark.parametrize("trees", [TREES, TREES[::-1]])
def test_phrases_of_one_step_are_composed_together(trees):
    iterations, _ = composed_by_step(trees)
    assert len(iterations) == 15
    for step, made in enumerate(iterations):
        # The longer sentence comes first, wherever it stands in the batch.
        expected = [(s, step) for s, (_, transitions) in enumerate(trees) if transitions[step : step + 1] == [REDUCE]]
        assert sorted(made) == expected


@pytest.mark.parametrize("composed", [composed_by_depth, composed_by_step])
def test_every_phrase_is_composed_once_and_after_its_children(composed):
    iterations, rows = composed(TREES)
    made = [place for iteration in iterations for place in iteration]
    assert len(made) == len(set(made)) == 7 + 4
    assert [rows[place] for place in made] == list(range(1 + 13, 1 + 13 + 11))
    np.testing.assert_array_equal(np.sort(rows[rows > 0]), np.arange(1, 1 + 13 + 11))


def test_words_and_rows_are_drawn():
    by_depth, by_step = draw_batch(TREES).axes
    for axes in (by_depth, by_step):
        texts = [text.get_text() for text in axes.texts]
        assert {"church", "ceiling", "dogs", "running"} | {str(row) for row in range(1, 25)} <= set(texts)
    assert "11 phrases in 6 products" in by_depth.get_title()
    assert "11 phrases in 9 products, and 24 transitions in 15 steps" in by_step.get_title()


def test_sentences_of_one_word_are_drawn_too():
    by_depth, _ = draw_batch([from_brackets("a"), from_brackets("b")]).axes
    assert "0 phrases in 0 products" in by_depth.get_title()
