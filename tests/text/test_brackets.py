"""Trees: their forms stand for the same thing, and what is no binary tree is named."""

import random

import numpy as np
import pytest

from tfnmt.errors import UserError
from tfnmt.text.brackets import (
    NOTHING,
    REDUCE,
    SHIFT,
    child_pointers,
    from_brackets,
    from_labelled_brackets,
    heights,
    levels,
    pointers_and_heights,
    to_brackets,
    to_labelled_brackets,
)

# The example of "Recursive Neural Networks with PyTorch".
CHURCH = "( ( The church ) ( ( has ( cracks ( in ( the ceiling ) ) ) ) . ) )"
STEPS = [{"S": SHIFT, "R": REDUCE}[letter] for letter in "SSRSSSSSRRRRSRR"]


def random_tree(words, rng):
    if len(words) == 1:
        return words[0]
    cut = rng.randrange(1, len(words))
    return f"( {random_tree(words[:cut], rng)} {random_tree(words[cut:], rng)} )"


def test_the_example_of_the_post():
    words, transitions = from_brackets(CHURCH)
    assert words == ["The", "church", "has", "cracks", "in", "the", "ceiling", "."]
    assert transitions == STEPS
    assert to_brackets(words, transitions) == CHURCH
    left, right = child_pointers(transitions)
    assert left.tolist() == [0, 1, 0, 2, 3, 4, 5, 6, 6, 5, 4, 3, 7, 11, 2]
    assert right.tolist() == [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 7, 12, 13]
    assert heights(transitions).tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 5, 6]
    assert [level.tolist() for level in levels(heights(transitions))] == [
        [0, 1, 3, 4, 5, 6, 7, 12],
        [2, 8],
        [9],
        [10],
        [11],
        [13],
        [14],
    ]


def test_one_word():
    assert from_brackets("word") == (["word"], [SHIFT])
    assert to_brackets(["word"], [SHIFT]) == "word"
    assert from_labelled_brackets("(4 word)") == (["word"], [SHIFT], ["4"])


def test_labels_come_in_the_order_of_the_nodes():
    text = "(3 (2 (1 not) (4 bad)) (0 .))"
    words, transitions, labels = from_labelled_brackets(text)
    assert (words, transitions) == (["not", "bad", "."], [SHIFT, SHIFT, REDUCE, SHIFT, REDUCE])
    assert labels == ["1", "4", "2", "0", "3"]
    assert to_labelled_brackets(words, transitions, labels) == text


def test_round_trips_and_batches_of_random_trees():
    rng = random.Random(3)
    texts = [random_tree([f"w{i}" for i in range(rng.randrange(1, 12))], rng) for _ in range(200)]
    trees = [from_brackets(text) for text in texts]
    assert [to_brackets(*tree) for tree in trees] == texts
    batch = np.full([len(trees), 25], NOTHING)
    for row, (_, transitions) in zip(batch, trees, strict=True):
        row[: len(transitions)] = transitions
    for array, function in zip(pointers_and_heights(batch), (0, 1, 2), strict=True):
        for row, (words, transitions) in zip(array, trees, strict=True):
            assert len(transitions) == 2 * len(words) - 1
            assert row[: len(transitions)].tolist() == pointers_and_heights(transitions)[function].tolist()
            assert not row[len(transitions) :].any()
    assert to_brackets(trees[0][0], batch[0]) == texts[0]


def test_only_the_ascii_space_parts_words():
    assert from_brackets("( a\u00a0b  c )") == (["a\u00a0b", "c"], [SHIFT, SHIFT, REDUCE])
    assert from_labelled_brackets("(2 (2 a\u00a0b) (2 c))")[0] == ["a\u00a0b", "c"]
    with pytest.raises(UserError, match=r"character 4 is '\\t'"):
        from_brackets("( a\tb c )")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty: there are no words"),
        (" ", "empty: there are no words"),
        ("( )", "empty: a bracket that closes after 0 words"),
        ("( a ( ) )", "empty: a bracket that closes after 1 words"),
        ("( a b", "1 brackets are never closed"),
        ("a ) b", "closes after 1 words was never opened"),
        ("a b", "2 trees instead of one"),
        ("( a )", "not binary: the bracket that closes after 1 words holds 1 nodes"),
        ("( ( a b c ) ( d ) )", "not binary: the bracket that closes after 3 words holds 3 nodes"),
    ],
)
def test_what_is_no_binary_tree(text, message):
    with pytest.raises(UserError, match=message):
        from_brackets(text)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "there are no words"),
        ("()", "the tree is empty"),
        ("(3)", "the tree is empty"),
        ("(3 (2 a) b)", "'b' has no label"),
        ("word", "'word' has no label"),
        ("(3 a b)", "'b' has no label"),
        ("(3 a (2 b))", "a word has no label"),
        ("((2 a) (2 b))", "node 3 has no label"),
        ("(3 (2 a) (2 b)", "1 brackets are never closed"),
        ("(3 (2 a) (2 b)))", "was never opened"),
        ("(3 (2 a))", "not binary"),
        ("(3 (2 a) (2 b) (2 c))", "not binary"),
        ("(3 a) (2 b)", "2 trees"),
    ],
)
def test_what_is_no_labelled_binary_tree(text, message):
    with pytest.raises(UserError, match=message):
        from_labelled_brackets(text)


def test_transitions_that_make_no_tree():
    with pytest.raises(ValueError, match="sentence 1: REDUCE at step 1"):
        child_pointers([[SHIFT, SHIFT, REDUCE], [SHIFT, REDUCE, SHIFT]])
    with pytest.raises(ValueError):
        to_brackets(["a", "b"], [SHIFT, REDUCE, SHIFT])
    with pytest.raises(ValueError):
        to_brackets(["a", "b"], [SHIFT, SHIFT])
