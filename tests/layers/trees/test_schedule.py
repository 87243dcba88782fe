"""What each iteration composes: every node once, after its children, in as few iterations as there can be."""

import numpy as np
import pytest
import tensorflow as tf

from tests.layers.trees.tree_batches import shapes_of_trees
from tfnmt.layers.trees.schedule import first_rows, longest_first, schedule_by_depth, schedule_by_step
from tfnmt.text.brackets import PAD, REDUCE, SHIFT
from tfnmt.text.transitions import child_pointers
from tfnmt_programs.measuring import peak_memory, reset_peak_memory, resident_memory

BATCHES = shapes_of_trees()
SCHEDULES = {"by depth": schedule_by_depth, "by step": schedule_by_step}


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_node_has_a_row_of_its_own_and_children_come_first(name, schedule):
    transitions = BATCHES[name]["transitions"].numpy()
    words = np.sum(transitions == SHIFT)
    schedule = SCHEDULES[schedule](BATCHES[name]["transitions"])
    rows, children = schedule.rows.numpy(), schedule.children.numpy()
    assert sorted(rows[transitions != PAD]) == list(range(1, 1 + np.sum(transitions != PAD)))
    assert not rows[transitions == PAD].any()
    starts = np.concatenate([[0], schedule.ends])
    assert starts[-1] == len(children)
    for start, end in zip(starts[:-1], starts[1:], strict=True):
        # All that an iteration reads was there before it.
        assert (children[start:end] < 1 + words + start).all()


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_children_are_those_of_the_tree(name, schedule):
    transitions = BATCHES[name]["transitions"]
    schedule = SCHEDULES[schedule](transitions)
    left, right = child_pointers(transitions)
    words = np.sum(transitions == SHIFT)
    rows, children = schedule.rows.numpy(), schedule.children.numpy()
    for s, step in np.argwhere(transitions == REDUCE):
        parent = rows[s, step] - 1 - words
        assert children[parent].tolist() == [rows[s, left[s, step]], rows[s, right[s, step]]]


@pytest.mark.parametrize("name", BATCHES)
def test_there_are_as_many_iterations_as_the_highest_tree_has_levels(name):
    transitions = BATCHES[name]["transitions"]
    highest = 0
    for tree, lefts, rights in zip(transitions.numpy(), *child_pointers(transitions), strict=True):
        heights = []
        for transition, left, right in zip(tree, lefts, rights, strict=True):
            heights.append(1 + max(heights[left], heights[right]) if transition == REDUCE else 0)
        highest = max(highest, *heights)
    assert len(schedule_by_depth(transitions).ends) == highest


@pytest.mark.parametrize("name", BATCHES)
def test_no_row_but_0_is_read_twice_in_an_iteration(name):
    """The gradient's loop relies on it."""
    schedule = schedule_by_step(BATCHES[name]["transitions"])
    for rows, ends in ((schedule.reads, schedule.read_ends), (schedule.children, schedule.ends)):
        for of_iteration in np.split(rows.numpy(), ends.numpy()[:-1]):
            rows_of_nodes = of_iteration[of_iteration > 0]
            assert len(set(rows_of_nodes)) == len(rows_of_nodes)


def test_the_longest_come_first():
    order, rank = longest_first(tf.constant([3, 5, 3, 7]))
    assert order.numpy().tolist() == [3, 1, 0, 2]
    assert rank.numpy().tolist() == [2, 1, 3, 0]
    assert first_rows(tf.constant([3, 5, 2])).numpy().tolist() == [1, 4, 9]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_memory_is_linear_in_the_length_of_a_sentence(schedule):
    words = 5000
    transitions = tf.constant([[SHIFT] * words + [REDUCE] * (words - 1)])
    function = tf.function(SCHEDULES[schedule], autograph=False)
    function(transitions[:, :3])  # traced
    reset_peak_memory()
    before = resident_memory()
    function(transitions)
    assert peak_memory() - before < 50e6  # an integer for each parent and step would take 200 MB
