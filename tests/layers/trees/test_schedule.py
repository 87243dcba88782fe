"""What the vectorized pointers say is what a stack does."""

import numpy as np
import pytest
import tensorflow as tf

from tests.layers.trees.tree_batches import left_branching, random_tree, right_branching, shapes_of_trees
from tfnmt.layers.trees.schedule import first_rows, legal_moves, longest_first, plan_by_height, plan_by_step, pointers
from tfnmt.text.brackets import NOTHING, SHIFT, child_pointers

BATCHES = shapes_of_trees()


def with_a_stack(transitions):
    """Of one tree, before each step: the first word left, the two highest nodes of the stack, the legal moves."""
    stack, word, found = [], 0, []
    words = transitions.count(SHIFT)
    for step, transition in enumerate(transitions):
        top, second = ([-1, -1] + stack)[-1], ([-1, -1] + stack)[-2]
        found.append((word, top, second, word < words, len(stack) > 1))
        if transition == SHIFT:
            word += 1
        else:
            del stack[-2:]
        stack.append(step)
    return found


@pytest.mark.parametrize("words", [1, 2, 9])
def test_what_steps_find_is_what_a_stack_holds(words):
    random = np.random.default_rng(words)
    trees = [left_branching(words), right_branching(words), *(random_tree(random, words) for _ in range(5))]
    for tree, *found in zip(trees, *pointers(tf.constant(trees)), legal_moves(tf.constant(trees)), strict=True):
        left, right, first, top, second, legal = (x.numpy() for x in found)
        np.testing.assert_array_equal(np.stack([left, right]), child_pointers(np.array(tree)))
        np.testing.assert_array_equal(np.column_stack([first, top, second, legal]), with_a_stack(tree))


@pytest.mark.parametrize("name", BATCHES)
def test_every_node_has_a_row_of_its_own_and_children_come_first(name):
    batch = BATCHES[name]
    transitions = batch["transitions"].numpy()
    words = np.sum(transitions == SHIFT)
    by_height = plan_by_height(*(batch[key] for key in ("transitions", "left", "right", "height")))
    for plan in (by_height, plan_by_step(batch["transitions"])):
        rows, children = plan["rows"].numpy(), plan["children"].numpy()
        assert sorted(rows[transitions != NOTHING]) == list(range(1, 1 + np.sum(transitions != NOTHING)))
        assert not rows[transitions == NOTHING].any()
        starts = np.concatenate([[0], plan["ends"]])
        assert starts[-1] == len(children)
        for start, end in zip(starts[:-1], starts[1:], strict=True):
            # All that an iteration reads was there before it.
            assert (children[start:end] < 1 + words + start).all()


def test_the_longest_come_first():
    order, rank = longest_first(tf.constant([3, 5, 3, 7]))
    assert order.numpy().tolist() == [3, 1, 0, 2]
    assert rank.numpy().tolist() == [2, 1, 3, 0]
    assert first_rows(tf.constant([3, 5, 2])).numpy().tolist() == [1, 4, 9]
