"""Brackets in the graph, beside those in Python."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.trees.schedule import pointers
from tfnmt.text.brackets import from_brackets
from tfnmt.text.graph_brackets import brackets_of, plain_words, transitions_of


def drawn(random, words):
    """A random binary tree over words, in brackets."""
    if len(words) == 1:
        return words[0]
    split = random.integers(1, len(words))
    return f"( {drawn(random, words[:split])} {drawn(random, words[split:])} )"


@pytest.fixture(scope="module")
def trees():
    random = np.random.default_rng(1)
    sizes = [1, 2, 3, 5, 8, 13, 40]
    trees = [drawn(random, [f"w{i}" for i in range(size)]) for size in sizes]
    left, right = "w0", "w299"
    for i in range(1, 300):
        left, right = f"( {left} w{i} )", f"( w{299 - i} {right} )"
    return [*trees, left, right]


def test_transitions_are_those_of_python(trees):
    found = transitions_of(tf.constant(trees)).numpy()
    for row, tree in zip(found, trees, strict=True):
        _, expected = from_brackets(tree)
        assert row[: len(expected)].tolist() == expected and not row[len(expected) :].any()


def test_there_and_back(trees):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def there_and_back(texts):
        transitions = transitions_of(texts)
        return brackets_of(tf.strings.split(plain_words(texts)), transitions, pointers(transitions)[0])

    assert [text.decode() for text in there_and_back(tf.constant(trees)).numpy()] == trees
    assert there_and_back(tf.constant([], tf.string)).shape == [0]


def test_plain_words():
    texts = tf.constant(["( ( A dog ) runs )", "no  brackets", "( ) x", ""])
    assert plain_words(texts).numpy().tolist() == [b"A dog runs", b"no brackets", b"x", b""]


@pytest.mark.parametrize(
    "text", ["", "a b", "( a )", "( a b", "a b )", "( a b c )", ") a b (", "( ( a ) b )", "( a b ) c", "( )"]
)
def test_what_is_no_tree(text):
    with pytest.raises(tf.errors.InvalidArgumentError, match="each text must be one binary tree"):
        transitions_of(tf.constant(["( a b )", text]))
