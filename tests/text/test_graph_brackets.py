"""Brackets in the graph, beside those in Python."""

import numpy as np
import pytest
import tensorflow as tf

from tests.layers.trees.tree_batches import left_branching, random_tree, right_branching
from tfnmt.errors import UserError
from tfnmt.text import brackets
from tfnmt.text.brackets import from_brackets, to_brackets
from tfnmt.text.graph_brackets import (
    are_brackets,
    brackets_as_words,
    brackets_from_transitions,
    transitions_from_brackets,
    without_brackets,
)

in_graph = tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
there = in_graph(transitions_from_brackets)
valid = in_graph(are_brackets)


@in_graph
def there_and_back(texts):
    words = tf.strings.split(without_brackets(texts))
    return brackets_from_transitions(words, transitions_from_brackets(texts))


def written(transitions):
    return to_brackets([f"w{i}" for i in range((len(transitions) + 1) // 2)], transitions)


@pytest.fixture(scope="module")
def trees():
    random = np.random.default_rng(1)
    trees = [random_tree(random, words) for words in (1, 2, 3, 5, 8, 13, 40)]
    return [written(tree) for tree in (*trees, left_branching(300), right_branching(300))]


def test_transitions_are_those_of_python(trees):
    found = there(tf.constant(trees)).numpy()
    for row, tree in zip(found, trees, strict=True):
        _, expected = from_brackets(tree)
        assert row[: len(expected)].tolist() == expected and not row[len(expected) :].any()


def test_there_and_back(trees):
    assert [text.decode() for text in there_and_back(tf.constant(trees)).numpy()] == trees
    assert there_and_back(tf.constant([], tf.string)).shape == [0]


def test_any_number_of_brackets_may_stand_at_a_word():
    trees = [written(branching(6000)) for branching in (left_branching, right_branching)]
    assert [text.decode() for text in there_and_back(tf.constant(trees)).numpy()] == trees


def test_texts_without_brackets():
    texts = tf.constant(["( ( A dog ) runs )", "no  brackets", "( ) x", ""])
    assert without_brackets(texts).numpy().tolist() == [b"A dog runs", b"no brackets", b"x", b""]


def test_brackets_as_words_are_those_of_python(trees):
    written = in_graph(brackets_as_words)(tf.constant([*trees, "( a ( ", ":( a(b)", ""])).numpy()
    expected = [brackets.brackets_as_words(text).strip() for text in [*trees, "( a (", ":( a(b)", ""]]
    assert [text.decode() for text in written] == expected


NO_TREES = ["", "a b", "( a )", "( a b", "a b )", "( a b c )", ") a b (", "( ( a ) b )", "( a b ) c", "( )"]
NO_TREES += ["a ( b )", "a b ) (", "( a b ) (", "( ( a b ( ) c d ) )", "( a\tb )", "( a b )\n"]


@pytest.mark.parametrize("text", NO_TREES)
def test_what_is_no_tree(text):
    with pytest.raises(tf.errors.InvalidArgumentError, match="each text must be one binary tree"):
        there(tf.constant(["( a b )", text]))
    assert valid(tf.constant(["( a b )", text, "( a ( b c ) )"])).numpy().tolist() == [True, False, True]


def test_it_reads_and_refuses_what_python_does():
    """Random brackets and words, and trees in which tokens were exchanged."""
    random = np.random.default_rng(2)
    counts = {True: 0, False: 0}
    for number in range(600):
        if number % 2:
            tokens = random.choice(["(", ")", "a"], size=random.integers(9), p=[0.3, 0.3, 0.4]).tolist()
        else:
            tokens = written(random_tree(random, int(random.integers(1, 6)))).split()
            i, j = random.integers(len(tokens), size=2)
            tokens[i], tokens[j] = tokens[j], tokens[i]
        text = " ".join(tokens)
        try:
            _, expected = from_brackets(text)
        except UserError:
            expected = None
        try:
            found = [int(transition) for transition in there(tf.constant([text]))[0]]
        except tf.errors.InvalidArgumentError:
            found = None
        assert found == expected, text
        counts[expected is not None] += 1
    assert min(counts.values()) > 50
