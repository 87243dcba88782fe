"""Brackets and transitions, one from the other, for any tree and for any text."""

import contextlib

import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tests.layers.trees.tree_batches import padded
from tests.text.labelled_brackets import to_labelled_brackets
from tfnmt.errors import UserError
from tfnmt.text.brackets import REDUCE, SHIFT, from_brackets, from_labelled_brackets, to_brackets
from tfnmt.text.graph_brackets import brackets_from_transitions, transitions_from_brackets, without_brackets
from tfnmt.text.transitions import are_trees

in_graph = tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
transitions_in_graph = in_graph(transitions_from_brackets)

# What the readers split at, and "()" without a space, which is a word of from_brackets alone.
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="() \t\n\v\f\r"), min_size=1, max_size=5)
TREES = st.recursive(WORDS, lambda trees: st.tuples(trees, trees), max_leaves=20)
TOKENS = st.lists(st.sampled_from(["(", ")", "a", "b"]), max_size=12).map(" ".join)
# Nearly trees: one character more or less.
BROKEN = st.tuples(TREES, st.integers(0, 99), st.sampled_from(["", " ", "(", ")", "\t", "\u2028", "x"]))


def written(tree):
    return tree if isinstance(tree, str) else f"( {written(tree[0])} {written(tree[1])} )"


def broken(parts):
    tree, place, character = parts
    text = written(tree)
    place %= len(text)
    return text[:place] + character + text[place + 1 :]


def words_and_transitions(tree):
    """By recursion."""
    if isinstance(tree, str):
        return [tree], [SHIFT]
    (words, steps), (more_words, more_steps) = map(words_and_transitions, tree)
    return words + more_words, [*steps, *more_steps, REDUCE]


@in_graph
def there_and_back(texts):
    words = tf.strings.split(without_brackets(texts))
    return brackets_from_transitions(words, transitions_from_brackets(texts))


def by_python(text):
    try:
        return from_brackets(text)[1]
    except UserError:
        return None


def by_graph(text):
    try:
        return transitions_in_graph(tf.constant([text.encode()])).numpy()[0].tolist()
    except tf.errors.InvalidArgumentError:
        return None


@given(tree=TREES)
def test_a_tree_comes_back(tree):
    words, transitions = from_brackets(written(tree))
    assert (words, transitions) == words_and_transitions(tree)
    assert to_brackets(words, transitions) == written(tree)


@given(trees=st.lists(TREES, max_size=4))
def test_trees_come_back_in_the_graph(trees):
    texts = [written(tree).encode() for tree in trees]
    assert there_and_back(tf.constant(texts, tf.string)).numpy().tolist() == texts


@given(tree=TREES, data=st.data())
def test_a_labelled_tree_comes_back(tree, data):
    words, transitions = words_and_transitions(tree)
    labels = data.draw(st.lists(WORDS, min_size=len(transitions), max_size=len(transitions)))
    text = to_labelled_brackets(words, transitions, labels)
    assert from_labelled_brackets(text) == (words, transitions, labels)


@given(text=TOKENS | BROKEN.map(broken) | st.text(max_size=12))
def test_the_graph_reads_and_refuses_what_python_does(text):
    assert by_graph(text) == by_python(text)


@given(text=TOKENS | st.text("()01 ab\t", max_size=20) | st.text(max_size=12))
def test_any_labelled_text_is_read_or_refused(text):
    with contextlib.suppress(UserError):
        words, transitions, labels = from_labelled_brackets(text)
        assert from_labelled_brackets(to_labelled_brackets(words, transitions, labels)) == (words, transitions, labels)


@given(rows=st.lists(st.lists(st.sampled_from([SHIFT, REDUCE]), min_size=1, max_size=9), min_size=1, max_size=5))
def test_any_transitions_are_a_tree_or_not(rows):
    def is_tree(row):
        size = 0
        for transition in row:
            if transition == REDUCE and size < 2:
                return False
            size += 1 if transition == SHIFT else -1
        return size == 1

    assert are_trees(padded(rows, padding=2)).numpy().tolist() == [is_tree(row) for row in rows]
