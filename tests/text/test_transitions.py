"""The structure computed for whole batches is what a stack and a buffer do, one step after the other."""

import numpy as np
import pytest
import tensorflow as tf

from tests.layers.trees.tree_batches import left_branching, padded, random_tree, right_branching
from tfnmt.text.brackets import PAD, REDUCE, SHIFT, from_brackets, to_brackets
from tfnmt.text.transitions import (
    are_trees,
    borders_of_top,
    brackets_at_words,
    buffer_reads,
    child_pointers,
    depths,
    legal_moves,
    nodes_below,
    stack_reads,
    stack_sizes,
    without_words,
)

CHURCH = [{"S": SHIFT, "R": REDUCE}[letter] for letter in "SSRSSSSSRRRRSRR"]  # Bradbury's post on SPINN


def by_definition(transitions):
    """What a stack and a buffer say of one tree, step by step: {name: a value for each step}."""
    stack, word, words, nodes, starts = [], 0, transitions.count(SHIFT), [], []
    names = ("first", "top", "second", "shift", "reduce", "borders", "left", "right", "size", "below")
    found = {name: [] for name in names}
    for step, transition in enumerate(transitions):
        top, second = ([-1, -1, *stack])[-1], ([-1, -1, *stack])[-2]
        start = starts[top] if stack else 0
        borders = [start - 1, start, word - 1, word]
        before = (word, top, second, word < words, len(stack) > 1, borders)
        if transition == SHIFT:
            starts.append(word)
            children, word = (word, word), word + 1
            nodes.append([])
        else:
            right, left = stack.pop(), stack.pop()
            children = (left, right)
            starts.append(starts[left])
            nodes.append([left, right])
        stack.append(step)
        values = (*before, *children, len(stack), ([-1, *stack])[-2])
        for name, value in zip(names, values, strict=True):
            found[name].append(value)

    def mark(node, depth):
        found["depth"][node] = depth
        for child in nodes[node]:
            mark(child, depth + 1)

    found["depth"] = [None] * len(transitions)
    mark(len(transitions) - 1, 0)
    return found


def computed(transitions):
    """The same names, of a batch."""
    left, right = child_pointers(transitions)
    top, second = stack_reads(transitions)
    shift, reduce = tf.unstack(legal_moves(transitions), axis=-1)
    return {
        "first": buffer_reads(transitions),
        "borders": borders_of_top(transitions),
        "top": top,
        "second": second,
        "shift": shift,
        "reduce": reduce,
        "left": left,
        "right": right,
        "size": stack_sizes(transitions),
        "below": nodes_below(transitions),
        "depth": depths(transitions),
    }


def test_every_function_says_what_a_stack_does():
    """Of random trees and of those that branch one way, side by side in one padded batch."""
    random = np.random.default_rng(1)
    trees = [random_tree(random, int(words)) for words in random.integers(1, 25, 150)]
    trees += [tree(words) for tree in (left_branching, right_branching) for words in (1, 2, 9, 40)]
    found = tf.function(computed, input_signature=[tf.TensorSpec([None, None], tf.int32)])(padded(trees))
    for s, tree in enumerate(trees):
        for name, expected in by_definition(tree).items():
            assert found[name][s, : len(tree)].numpy().tolist() == expected, (name, tree)
    beyond = np.array([[step >= len(tree) for step in range(79)] for tree in trees])
    for name, value in {"top": -1, "shift": False, "reduce": False, "left": 0, "right": 0, "depth": 0}.items():
        assert (found[name].numpy()[beyond] == value).all(), name


def test_the_example_of_the_post():
    left, right = child_pointers(tf.constant([CHURCH]))
    assert left[0].numpy().tolist() == [0, 1, 0, 2, 3, 4, 5, 6, 6, 5, 4, 3, 7, 11, 2]
    assert right[0].numpy().tolist() == [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 7, 12, 13]
    assert depths(tf.constant([CHURCH]))[0].numpy().tolist() == [2, 2, 1, 3, 4, 5, 6, 6, 5, 4, 3, 2, 2, 1, 0]


def test_trees_come_back_from_their_pointers():
    """Brackets → transitions → pointers → brackets."""
    random = np.random.default_rng(2)
    for words in (1, 2, 5, 12, 30):
        text = to_brackets([f"w{i}" for i in range(words)], random_tree(random, words))
        leaves, transitions = from_brackets(text)
        left, right = (pointers[0].numpy() for pointers in child_pointers(tf.constant([transitions])))

        def written(node, leaves=leaves, transitions=transitions, left=left, right=right):
            if transitions[node] == SHIFT:
                return leaves[left[node]]
            return f"( {written(left[node])} {written(right[node])} )"

        assert written(len(transitions) - 1) == text


@pytest.mark.parametrize("words", [1, 2, 7])
def test_phrases_begin_and_end_at_words(words):
    tree = random_tree(np.random.default_rng(words), words)
    begin, end = brackets_at_words(tf.constant([[*tree, PAD]]), words + 1)
    tokens = to_brackets(list("abcdefg"[:words]), tree).split()
    places = [i for i, token in enumerate(tokens) if token not in "()"]
    runs = [tokens[i + 1 : j] for i, j in zip([-1, *places], [*places, len(tokens)], strict=True)]
    assert begin.numpy().tolist() == [[*(run.count("(") for run in runs[:-1]), 0]]
    assert end.numpy().tolist() == [[*(run.count(")") for run in runs[1:]), 0]]


def test_words_are_left_out_as_from_brackets():
    """Of random trees, at random; what is left of a phrase is written anew by recursion."""
    random = np.random.default_rng(3)
    trees = [random_tree(random, int(words)) for words in random.integers(1, 20, 100)]
    kept = [random.random((len(tree) + 1) // 2) < random.random() for tree in trees]
    for words in kept:
        words[0] |= not words.any()
    mask = tf.constant([[*words, *[False] * (20 - len(words))] for words in kept])
    shorter, nodes = tf.function(without_words)(padded(trees, 2), mask)
    for tree, words, found, found_nodes in zip(trees, kept, shorter.numpy(), nodes.numpy(), strict=True):
        stack, transitions, became, buffer = [], [], [], iter(words)
        for transition in tree:  # the stack has the node that is left of each phrase, -1 for none
            if transition == SHIFT:
                stays, node = next(buffer), -1
            else:
                right, left = stack.pop(), stack.pop()
                stays, node = left >= 0 and right >= 0, max(left, right)
            if stays:
                node = len(transitions)
                transitions.append(transition)
            stack.append(node)
            became.append(node)
        assert found.tolist() == transitions + [PAD] * (len(found) - len(transitions))
        assert found_nodes.tolist() == became + [-1] * (len(found_nodes) - len(became))


def test_words_left_out_of_an_example():
    _, transitions = from_brackets("( -LRB- ( ( a ( -LRB- ( ( not b ) -RRB- ) ) ) -RRB- ) )")
    shorter, nodes = without_words(
        tf.constant([transitions]), tf.constant([[False, True, False, True, True, False, False]])
    )
    assert shorter.numpy().tolist() == [from_brackets("( a ( not b ) )")[1]]
    assert nodes.numpy().tolist() == [[-1, 0, -1, 1, 2, 3, -1, 3, 3, 4, -1, 4, 4]]


def test_what_is_a_tree():
    rows = {
        (SHIFT,): True,
        (SHIFT, SHIFT, REDUCE): True,
        (SHIFT, REDUCE, SHIFT): False,  # REDUCE finds one node
        (SHIFT, SHIFT): False,  # two nodes are left
        (REDUCE,): False,
        (): False,
        (SHIFT, SHIFT, REDUCE, REDUCE, SHIFT): False,
        (SHIFT, PAD, SHIFT, REDUCE): False,  # PAD before the end
        (SHIFT, SHIFT, 3, REDUCE): False,  # no transition
        (SHIFT, SHIFT, REDUCE, -1): False,
    }
    assert are_trees(padded(rows)).numpy().tolist() == list(rows.values())


def test_a_tree_of_more_words_than_pairs_of_sizes_and_steps_fit_into_32_bits():
    words = 33_000
    transitions = [SHIFT] * words + [REDUCE] * (words - 1)
    shifted, reduced = np.arange(words) - 1, words - 3 - np.arange(words - 1)
    np.testing.assert_array_equal(nodes_below(tf.constant([transitions]))[0], [*shifted, *reduced])
