"""Trees: their forms stand for the same thing, and what is no binary tree is named."""

import random

import pytest

from tests.text.labelled_brackets import to_labelled_brackets
from tfnmt.errors import UserError
from tfnmt.text.brackets import (
    PAD,
    REDUCE,
    SHIFT,
    brackets_as_words,
    from_brackets,
    from_labelled_brackets,
    to_brackets,
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
    assert to_brackets(words, transitions) == to_brackets(words, [*transitions, PAD, PAD]) == CHURCH


def test_one_word():
    assert from_brackets("word") == (["word"], [SHIFT])
    assert to_brackets(["word"], [SHIFT]) == "word"
    assert from_labelled_brackets("(4 word)") == (["word"], [SHIFT], ["4"])


def test_brackets_as_words():
    """Each stands where it stood, as a leaf of the tree; so two trees of the same words have different words."""
    assert brackets_as_words("( not a )") == "( -LRB- ( ( not a ) -RRB- ) )"
    assert brackets_as_words("word") == "word" and brackets_as_words(":( a(b) (\t") == ":( a(b) ( -LRB- ( (\t"
    rng = random.Random(4)
    for _ in range(100):
        text = random_tree([f"w{i}" for i in range(rng.randrange(1, 12))], rng)
        words, transitions = from_brackets(brackets_as_words(text))
        assert words == [{"(": "-LRB-", ")": "-RRB-"}.get(token, token) for token in text.split()]
        assert len(transitions) == 2 * len(words) - 1


def test_labels_come_in_the_order_of_the_nodes():
    text = "(3 (2 (1 not) (4 bad)) (0 .))"
    words, transitions, labels = from_labelled_brackets(text)
    assert (words, transitions) == (["not", "bad", "."], [SHIFT, SHIFT, REDUCE, SHIFT, REDUCE])
    assert labels == ["1", "4", "2", "0", "3"]
    assert to_labelled_brackets(words, transitions, labels) == text


def test_round_trips_of_random_trees():
    rng = random.Random(3)
    for _ in range(200):
        text = random_tree([f"w{i}" for i in range(rng.randrange(1, 12))], rng)
        words, transitions = from_brackets(text)
        assert len(transitions) == 2 * len(words) - 1
        assert to_brackets(words, transitions) == to_brackets(words, [*transitions, PAD, PAD]) == text
        labels = [str(rng.randrange(5)) for _ in transitions]
        labelled = to_labelled_brackets(words, transitions, labels)
        assert from_labelled_brackets(labelled) == (words, transitions, labels)


def test_only_the_ascii_space_parts_words():
    assert from_brackets("( a\u00a0b  c )") == (["a\u00a0b", "c"], [SHIFT, SHIFT, REDUCE])
    assert from_labelled_brackets("(2 (2 a\u00a0b) (2 c))")[0] == ["a\u00a0b", "c"]
    with pytest.raises(UserError, match=r"character 4 is '\\t'"):
        from_brackets("( a\tb c )")


@pytest.mark.parametrize(
    "text, message",
    [
        ("(A (dog runs))", r"3 trees instead of one: .*; '\(A' is a word: write spaces around brackets"),
        ("( A ( dog runs) )", r"1 bracket is never closed; 's\)' is a word"),
        ("( :( (", "brackets are never closed$"),
    ],
)
def test_brackets_without_spaces_are_told(text, message):
    with pytest.raises(UserError, match=message):
        from_brackets(text)


def test_a_word_may_have_brackets_in_a_tree_that_is_right():
    assert from_brackets("( (A b) )") == (["(A", "b)"], [SHIFT, SHIFT, REDUCE])


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty: there are no words"),
        (" ", "empty: there are no words"),
        ("( )", "empty: a bracket that closes after 0 words"),
        ("( a ( ) )", "empty: a bracket that closes after 1 words"),
        ("( a b", "1 bracket is never closed"),
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
        ("(3 (2 a) (2 b)", "1 bracket is never closed"),
        ("(3 (2 a) (2 b)))", "was never opened"),
        ("(3 (2 a))", "not binary"),
        ("(3 (2 a) (2 b) (2 c))", "not binary"),
        ("(3 a) (2 b)", "2 trees"),
    ],
)
def test_what_is_no_labelled_binary_tree(text, message):
    with pytest.raises(UserError, match=message):
        from_labelled_brackets(text)


@pytest.mark.parametrize(
    "transitions", [[SHIFT, SHIFT], [SHIFT], [SHIFT, SHIFT, REDUCE, REDUCE], [SHIFT, SHIFT, SHIFT]]
)
def test_transitions_that_make_no_tree_of_the_words(transitions):
    with pytest.raises(ValueError, match=f"2 words and {len(transitions)} transitions do not make a tree"):
        to_brackets(["a", "b"], transitions)


def test_a_reduce_needs_two_nodes():
    with pytest.raises(ValueError, match="REDUCE at step 1 finds fewer than two nodes"):
        to_brackets(["a", "b"], [SHIFT, REDUCE, SHIFT])
