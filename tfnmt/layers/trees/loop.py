"""The loop that composes trees: parents from children that were composed before.

Transitions alone tell what SHIFT and REDUCE will find. So the stack needs no popping and no copies ("thin stack",
Bowman et al. 2016, arXiv:1603.06021): all nodes of a batch lie in one table, a row each, in the order in
which they are made, and what a stack would hold are row indices.

        row 0                 zeros: what an empty stack or buffer gives
        rows 1 … words        the leaves: all words of all sentences, without padding
        rows words + 1 …      the parents, those of one iteration side by side

A row is written once, before anything reads it. That is why the table may be changed in place; TensorFlow would
otherwise copy all of it in every iteration, and the gradient of each read would be as large as the table.

As in `tfnmt.layers.recurrence`, the gradient is written here: one loop forward, one loop backward, whose time and
memory are linear in the number of nodes, and every weight's gradient as one product after it.
"""

from collections.abc import Callable

import tensorflow as tf

from tfnmt.layers.invariants import (
    LoopInvariants,
    check_all_used,
    check_matrices,
    check_use,
    multiply,
    naming_variables,
)
from tfnmt.layers.saved_product import saved_product
from tfnmt.layers.trees.schedule import Schedule
from tfnmt.layers.trees.table import add_to_rows, new_table, rows_of_table
from tfnmt.shapes import any_rows


def compose_trees(
    step: Callable,
    leaves: tuple[tf.Tensor, tf.Tensor],
    schedule: Schedule,
    weights: dict[str, tf.Tensor],
    constants: dict[str, tf.Tensor],
    states: tuple[tf.Tensor, ...] = (),
) -> tuple[tuple[tf.Tensor, tf.Tensor], tuple[tf.Tensor, ...]]:
    """Compose all parents of a batch, those of one iteration at once.

    Args:
        step: `step(inputs, states, invariants) -> ((h, c), states)`, one iteration. `inputs` is a dictionary: "h" and
            "c" of the children, [parents, 2, units]; if the schedule has reads, also "reads", the h that the tracker
            reads, [reading, 3, units], and "sentence_indices", int32 [parents]. The step returns the parents (h, c),
            each [parents, units], and the new states. `invariants` is as in `recur`; the step depends on no other
            tensor.
        leaves: (h, c), each float [words, units].
        schedule: what each iteration reads and composes.
        weights, constants: as in `recur`; matrices are [in, out].
        states: a tuple of tensors [sentences, size] that go from one iteration to the next, of the sentences in the
            order of falling lengths. A step has those of the sentences that still read, [reading, size].

    Returns:
        ((h, c), states): the table, each [1 + words + parents, units], and a tuple of the states after every iteration,
        in the order of the schedule's reads, [all_steps, size].

    Raises:
        ValueError: the step uses a weight twice, or not at all, or a variable that is not among them, or returns
            parents of another size than the leaves; a weight is no matrix.
    """
    check_matrices(weights)
    arguments = (tuple(leaves), tuple(states), dict(weights), dict(constants))
    slices = _Slices(tf.shape(leaves[0])[0], schedule)

    def step_with_invariants(inputs, indices, states, constants, matmul):
        parents, states = step(inputs | indices, states, LoopInvariants(matmul, constants))
        _check_parents(parents, leaves)
        return tuple(parents), tuple(states)

    @tf.custom_gradient
    def run(*flat):
        leaves, states, weights, constants = tf.nest.pack_sequence_as(arguments, flat)
        table, states_after, saved = _forward(step_with_invariants, slices, leaves, states, weights, constants)

        def gradient(*d_results):
            d_table, d_states_after = d_results[:2], d_results[2:]
            known = (table, weights, constants, saved)
            d_leaves, d_states, *others = _backward(step_with_invariants, slices, *known, d_table, d_states_after)
            d_states = (_with_rows(d, tf.shape(state)[0]) for d, state in zip(d_states, states, strict=True))
            return tf.nest.flatten((d_leaves, tuple(d_states), *others))

        return (*table, *states_after), gradient

    with naming_variables():
        results = run(*tf.nest.flatten(arguments))
    return tuple(results[:2]), tuple(results[2:])


def _check_parents(parents, leaves):
    """Raise `ValueError` unless a step returns a parent (h, c) of the leaves' sizes for each pair of children."""
    sizes = [leaf.shape[1] for leaf in leaves]
    is_pair = isinstance(parents, tuple | list) and len(parents) == len(sizes)
    if is_pair and all(x.shape.is_compatible_with([None, size]) for x, size in zip(parents, sizes, strict=True)):
        return
    expected = " and ".join(f"[parents, {size}]" for size in sizes)
    given = " and ".join(str(x.shape) for x in parents) if is_pair else f"a {type(parents).__name__}"
    raise ValueError(f"a composition returns (h, c) of the parents, {expected} as the children's are; this one {given}")


class _Slices:
    """A schedule in slices, one for each iteration, cut before the loop: an iteration takes its own with one read."""

    def __init__(self, words, schedule):
        self.words, self.parents = words, tf.shape(schedule.children)[0]
        self.iterations = tf.shape(schedule.ends)[0]
        counts = _differences(schedule.ends)
        # Flat: integers cannot be reshaped in a GPU's memory, where the loop has them.
        children = _split(tf.reshape(schedule.children, [-1]), 2 * counts)
        self.reads = {"h": children, "c": children}
        self.indices = {}
        self.writes = _split(1 + words + tf.range(self.parents), counts)
        if schedule.reads is not None:
            self.reading = _differences(schedule.read_ends)
            self.sizes = tf.stack([self.reading, -tf.ones_like(self.reading)], axis=1)
            self.reads["reads"] = _split(tf.reshape(schedule.reads, [-1]), 3 * self.reading)
            self.indices["sentence_indices"] = _split(schedule.sentence_indices, counts)

    def states_of_reading(self, t, states):
        """The states of the sentences that still read in iteration t: the first so many of [.., size]."""
        if not states:
            return states
        size = self.sizes[t]
        reading = tuple(tf.slice(state, [0, 0], size) for state in states)
        for state, first in zip(states, reading, strict=True):
            first.set_shape([None, state.shape[1]])  # a slice of unknown size forgets it
        return reading


def _forward(step, slices, leaves, states, weights, constants):
    """All iterations: the table, the states after each, and what the backward loop needs: states before, products."""
    iterations = slices.iterations
    table = tuple(new_table(leaf, slices.parents) for leaf in leaves)
    states = any_rows(states)
    before, after = (tuple(_new_array(state.dtype, iterations, state.shape[1]) for state in states) for _ in range(2))
    products = {name: _new_array(weight.dtype, iterations, weight.shape[1]) for name, weight in weights.items()}

    def body(t, table, states, before, after, products):
        products_t = {}

        def matmul(name, value):
            check_use(name, products_t, weights)
            products_t[name] = multiply(value, weights[name])
            return products_t[name]

        inputs = rows_of_table(_read(slices.reads, t), *table)
        states = slices.states_of_reading(t, states)
        parents, new_states = step(inputs, _read(slices.indices, t), states, constants, matmul)
        check_all_used(products_t, weights)
        rows = slices.writes.read(t)
        table = tuple(tf.raw_ops.InplaceUpdate(x=x, i=rows, v=value) for x, value in zip(table, parents, strict=True))
        before, after = _write(before, t, states), _write(after, t, new_states)
        return t + 1, table, new_states, before, after, _write(products, t, products_t)

    loop_state = (0, table, states, before, after, products)
    _, table, _, before, after, products = tf.while_loop(lambda t, *_: t < iterations, body, loop_state)
    return table, tuple(_concat(array) for array in after), {"states": before, "products": products}


def _backward(step, slices, table, weights, constants, saved, d_table, d_states_after):
    """The gradients of leaves, first states, weights and constants, given those of the table and of all states."""
    iterations = slices.iterations
    transposed = {name: tf.linalg.matrix_transpose(weight) for name, weight in weights.items()}
    # A copy, since the loop adds to it in place, and its source may be used elsewhere.
    d_table = tuple(tf.raw_ops.DeepCopy(x=tf.convert_to_tensor(d)) for d in d_table)
    d_states_after = tuple(tf.convert_to_tensor(d) for d in d_states_after)
    d_states = any_rows(tuple(d[:0] for d in d_states_after))  # no sentence reads after the last iteration
    d_states_after = tuple(_split(d, slices.reading) for d in d_states_after)
    factors = {name: _new_array(weight.dtype, iterations, weight.shape[0]) for name, weight in weights.items()}
    dz = {name: _new_array(weight.dtype, iterations, weight.shape[1]) for name, weight in weights.items()}
    d_constants = tf.nest.map_structure(tf.zeros_like, constants)

    def body(i, d_table, d_states, d_constants, factors, dz):
        t = iterations - 1 - i
        factors_t, dz_t = {}, {}
        saved_t = _read(saved, t)

        def matmul(name, value):
            factors_t[name] = value
            return saved_product(name, value, saved_t["products"], transposed, dz_t)

        rows = _read(slices.reads, t)
        sources = (rows_of_table(rows, *table), saved_t["states"], constants)
        with tf.GradientTape() as tape:
            tape.watch(sources)
            results = step(sources[0], _read(slices.indices, t), *sources[1:], matmul)
        written = slices.writes.read(t)
        d_parents = tuple(tf.gather(d, written) for d in d_table)
        d_states = tuple(
            after + _with_rows(d, tf.shape(after)[0])
            for d, after in zip(d_states, _read(d_states_after, t), strict=True)
        )
        gradients = tape.gradient(results, sources, (d_parents, d_states), tf.UnconnectedGradients.ZERO)
        d_inputs, d_states, d_constants_t = gradients
        d_table = add_to_rows(d_table, rows, d_inputs)
        d_constants = tf.nest.map_structure(tf.add, d_constants, d_constants_t)
        return i + 1, d_table, d_states, d_constants, _write(factors, t, factors_t), _write(dz, t, dz_t)

    loop_state = (0, d_table, d_states, d_constants, factors, dz)
    _, d_table, d_states, d_constants, factors, dz = tf.while_loop(lambda i, *_: i < iterations, body, loop_state)
    d_leaves = tuple(d[1 : 1 + slices.words] for d in d_table)
    d_weights = {name: tf.matmul(_concat(factors[name]), _concat(dz[name]), transpose_a=True) for name in weights}
    return d_leaves, d_states, d_weights, d_constants


def _with_rows(x, count):
    """x [rows, size] followed by rows of zeros: [count, size]."""
    return tf.pad(x, [[0, count - tf.shape(x)[0]], [0, 0]])


def _new_array(dtype, size, *columns):
    """An array of `size` tensors [rows, *columns], each with as many rows as it has."""
    shape = [None, *columns]
    return tf.TensorArray(dtype, size=size, element_shape=shape, infer_shape=False, clear_after_read=False)


def _split(x, counts):
    """x [rows, ...] as an array of its first rows, so many, then the next ones, …"""
    array = _new_array(x.dtype, tf.size(counts), *x.shape[1:])
    return array.split(x, counts) if counts.shape[0] != 0 else array  # eagerly, TensorFlow cannot split into nothing


def _concat(array):
    """The rows of all tensors [rows, columns] of an array."""
    if tf.executing_eagerly() and array.size() == 0:  # which TensorFlow cannot do eagerly
        return tf.zeros([0, array.element_shape[1]], array.dtype)
    return array.concat()


def _differences(ends):
    """[a, a + b, a + b + c] → [a, b, c]."""
    return ends - tf.pad(ends, [[1, 0]])[:-1]


def _read(arrays, t):
    return tf.nest.map_structure(lambda array: array.read(t), arrays)


def _write(arrays, t, values):
    return tf.nest.map_structure(lambda array, value: array.write(t, value), arrays, values)
