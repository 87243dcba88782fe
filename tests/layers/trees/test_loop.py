"""The loop over trees tells what a step does that it cannot use."""

import pytest
import tensorflow as tf

from tfnmt.layers.trees.loop import compose_trees
from tfnmt.layers.trees.schedule import schedule_by_depth
from tfnmt.text.brackets import REDUCE, SHIFT

LEAVES = (tf.ones([3, 4]), tf.ones([3, 0]))
MATRIX, VECTOR = tf.ones([4, 4]), tf.ones([4])


def run(compose, **weights):
    schedule = schedule_by_depth(tf.constant([[SHIFT, SHIFT, REDUCE, SHIFT, REDUCE]]))
    return compose_trees(lambda inputs, states, _: (compose(**inputs), states), LEAVES, schedule, weights, {})


@pytest.mark.parametrize("in_a_graph", [False, True])
@pytest.mark.parametrize(
    ("compose", "given"),
    [
        (lambda h, c: h[:, 0], "a (Symbolic|Eager)Tensor"),
        (lambda h, c: (tf.reshape(h, [-1, 8]), c[:, 0]), r"\(\S+, 8\) and \(\S+, 0\)"),
        (lambda h, c: (h[:, 0], c), r"\(\S+, 4\) and \(\S+, 2, 0\)"),
    ],
    ids=["h alone", "a larger h", "the c of both"],
)
def test_parents_are_as_large_as_their_children(compose, given, in_a_graph):
    call = tf.function(run, autograph=False) if in_a_graph else run
    expected = r"returns \(h, c\) of the parents, \[parents, 4\] and \[parents, 0\] as the children's are; this one "
    with pytest.raises(ValueError, match=expected + given):
        call(compose)


def test_a_weight_that_is_no_matrix_is_named():
    with pytest.raises(ValueError, match=r"the weight 'b' of a loop has the shape \(4,\): .* in `loop_constants`"):
        run(lambda h, c: (h[:, 0], c[:, 0]), W=MATRIX, b=VECTOR)
