"""The one loop in which trees grow: nodes are made from nodes made before.

What SHIFT and REDUCE will pop is known from the transitions alone, before any number is computed. So the stack needs
no popping and no copies ("thin stack", Bowman et al. 2016, arXiv:1603.06021, section 4.2): all nodes of a batch lie in
one table, a row each, in the order in which they are made, and what a stack would hold are numbers of rows.

        row 0                 nothing: what an empty stack or buffer shows, zeros
        rows 1 … words        the leaves: all words of all sentences, without padding
        rows words + 1 …      the parents, those of one iteration side by side

A row is written once, before anything reads it. That is why the table may be changed in place; TensorFlow would
otherwise copy all of it in every iteration, and the gradient of each look at it would be as large as the table.

As in `tfnmt.layers.recurrence`, the gradient is written here: one loop forward, one loop backward, whose time and
memory are linear in the number of nodes, and every weight's gradient as one product after it.
"""

import tensorflow as tf

from tfnmt.layers.recurrence import LoopInvariants, multiply
from tfnmt.shapes import any_rows


def grow(step, leaves, children, ends, weights, constants, states=(), looks=None, look_ends=None, whose=None):
    """Make all parents, those of one iteration at once.

    Args:
        step: `step(seen, states, invariants) -> ((h, c), states)`, one iteration. `seen` is a dictionary: "h" and
            "c" of the children, [parents, 2, units]; with `looks`, "looks", the h seen there,
            [reading, looks, units], and "whose", int [parents]. It returns the parents (h, c), each
            [parents, units], and the new states. `invariants` is as in `recur`; the step depends on no other tensor.
        leaves: (h, c), each float [words, units].
        children: int32 [all_parents, 2], the rows of each parent's left and right child, in the order in which
            parents are made.
        ends: int32 [iterations], how many parents are made when each iteration is over.
        weights, constants: as in `recur`; matrices are [in, out].
        states: a tuple of tensors [sentences, size] that go from one iteration to the next; a step has those of the
            sentences that still read, [reading, size].
        looks: optional int32 [all_steps, looks], rows of which the step sees h: of the first iteration's sentences,
            then of the second's, … Sentences come longest first, so those that still read are the first so many.
        look_ends: with `looks`, int32 [iterations], how many looks are done when each iteration is over.
        whose: with `looks`, int [all_parents], the sentence of each parent.

    Returns:
        ((h, c), states): the table, each [1 + words + all_parents, units], and a tuple of the states after every
        iteration, in the order of the looks, [all_steps, size].

    Raises:
        ValueError: the step uses a weight twice.
    """
    arguments = (tuple(leaves), tuple(states), dict(weights), dict(constants))
    schedule = _Schedule(tf.shape(leaves[0])[0], children, ends, looks, look_ends, whose)

    def step_with_invariants(seen, numbers, states, constants, matmul):
        made, states = step(seen | numbers, states, LoopInvariants(matmul, constants))
        return tuple(made), tuple(states)

    @tf.custom_gradient
    def run(*flat):
        leaves, states, weights, constants = tf.nest.pack_sequence_as(arguments, flat)
        table, states_after, kept = _forward(step_with_invariants, schedule, leaves, states, weights, constants)

        def gradient(*d_results):
            d_table, d_states_after = d_results[:2], d_results[2:]
            known = (table, weights, constants, kept)
            d_leaves, d_states, *others = _backward(step_with_invariants, schedule, *known, d_table, d_states_after)
            # Those who never read have states too.
            d_states = (_with_rows(d, tf.shape(state)[0]) for d, state in zip(d_states, states, strict=True))
            return tf.nest.flatten((d_leaves, tuple(d_states), *others))

        return (*table, *states_after), gradient

    results = run(*tf.nest.flatten(arguments))
    return tuple(results[:2]), tuple(results[2:])


class _Schedule:
    """Which rows each iteration reads and writes; the arguments are those of `grow`.

    All of it is cut into pieces before the loop, so that an iteration takes its own with one operation each.
    """

    def __init__(self, words, children, ends, looks, look_ends, whose):
        self.words, self.parents = words, tf.shape(children)[0]
        self.iterations = tf.shape(ends)[0]
        counts = _differences(ends)
        children = _pieces(children, counts)
        self.reads = {"h": children, "c": children}
        self.numbers = {}
        self.writes = _pieces(1 + words + tf.range(self.parents), counts)
        if looks is not None:
            self.reading = _differences(look_ends)
            self.sizes = tf.stack([self.reading, -tf.ones_like(self.reading)], axis=1)
            self.reads["looks"] = _pieces(looks, self.reading)
            self.numbers["whose"] = _pieces(whose, counts)

    def those_who_read(self, t, states):
        """Of all sentences' states [.., size], those of the first so many: who still read at iteration t."""
        if not states:
            return states
        size = tf.gather(self.sizes, t)
        readers = tuple(tf.slice(state, [0, 0], size) for state in states)
        for state, of_readers in zip(states, readers, strict=True):
            of_readers.set_shape([None, state.shape[1]])  # a slice of unknown size forgets it
        return readers


def _forward(step, schedule, leaves, states, weights, constants):
    """All iterations: the table, the states after each, and what the backward loop needs: states before, products."""
    iterations = schedule.iterations
    table = tuple(new_table(leaf, schedule.parents) for leaf in leaves)
    states = any_rows(states)
    before, after = (tuple(_new_array(state.dtype, iterations, state.shape[1]) for state in states) for _ in range(2))
    products = {name: _new_array(weight.dtype, iterations, weight.shape[1]) for name, weight in weights.items()}

    def body(t, table, states, before, after, products):
        products_t = {}

        def matmul(name, value):
            if name in products_t:
                raise ValueError(f"a step uses each weight once, and uses {name!r} again")
            products_t[name] = multiply(value, weights[name])
            return products_t[name]

        seen = _see(_read(schedule.reads, t), *table)
        states = schedule.those_who_read(t, states)
        made, new_states = step(seen, _read(schedule.numbers, t), states, constants, matmul)
        rows = schedule.writes.read(t)
        table = tuple(tf.raw_ops.InplaceUpdate(x=x, i=rows, v=value) for x, value in zip(table, made, strict=True))
        before, after = _write(before, t, states), _write(after, t, new_states)
        return t + 1, table, new_states, before, after, _write(products, t, products_t)

    carried = (0, table, states, before, after, products)
    results = tf.while_loop(lambda t, *_: t < iterations, body, carried)
    _, table, _, before, after, products = results
    return table, tuple(array.concat() for array in after), {"states": before, "products": products}


def _backward(step, schedule, table, weights, constants, kept, d_table, d_states_after):
    """The gradients of leaves, first states, weights and constants, given those of the table and of all states."""
    iterations = schedule.iterations
    transposed = {name: tf.linalg.matrix_transpose(weight) for name, weight in weights.items()}
    # Ours to change: what comes in may be used elsewhere too.
    d_table = tuple(tf.raw_ops.DeepCopy(x=tf.convert_to_tensor(d)) for d in d_table)
    d_states_after = tuple(tf.convert_to_tensor(d) for d in d_states_after)
    d_states = any_rows(tuple(d[:0] for d in d_states_after))  # nobody reads after the end
    d_states_after = tuple(_pieces(d, schedule.reading) for d in d_states_after)
    factors = {name: _new_array(weight.dtype, iterations, weight.shape[0]) for name, weight in weights.items()}
    dz = {name: _new_array(weight.dtype, iterations, weight.shape[1]) for name, weight in weights.items()}
    d_constants = tf.nest.map_structure(tf.zeros_like, constants)

    def body(i, d_table, d_states, d_constants, factors, dz):
        t = iterations - 1 - i
        factors_t, dz_t = {}, {}
        kept_t = _read(kept, t)

        def matmul(name, value):
            """The product is known already; its gradient is kept as well as passed on."""
            factors_t[name] = value

            @tf.custom_gradient
            def known(value):
                def gradient(d):
                    dz_t[name] = d
                    return multiply(d, transposed[name])

                return tf.identity(kept_t["products"][name]), gradient

            return known(value)

        rows = _read(schedule.reads, t)
        sources = (_see(rows, *table), kept_t["states"], constants)
        with tf.GradientTape() as tape:
            tape.watch(sources)
            results = step(sources[0], _read(schedule.numbers, t), *sources[1:], matmul)
        written = schedule.writes.read(t)
        d_made = tuple(tf.gather(d, written) for d in d_table)
        d_states = tuple(
            after + _with_rows(d, tf.shape(after)[0])
            for d, after in zip(d_states, _read(d_states_after, t), strict=True)
        )
        gradients = tape.gradient(results, sources, (d_made, d_states), tf.UnconnectedGradients.ZERO)
        d_seen, d_states, d_constants_t = gradients
        d_table = _add_seen(d_table, rows, d_seen)
        d_constants = tf.nest.map_structure(tf.add, d_constants, d_constants_t)
        return i + 1, d_table, d_states, d_constants, _write(factors, t, factors_t), _write(dz, t, dz_t)

    carried = (0, d_table, d_states, d_constants, factors, dz)
    _, d_table, d_states, d_constants, factors, dz = tf.while_loop(lambda i, *_: i < iterations, body, carried)
    d_leaves = tuple(d[1 : 1 + schedule.words] for d in d_table)
    d_weights = {name: tf.matmul(factors[name].concat(), dz[name].concat(), transpose_a=True) for name in weights}
    return d_leaves, d_states, d_weights, d_constants


def _see(rows, h, c):
    """What lies in these rows: c in those named "c", h in all others."""
    return {name: tf.gather(c if name == "c" else h, at) for name, at in rows.items()}


def _add_seen(d_table, rows, d_seen):
    """The gradient of `_see`, added to that of the table in place; a row seen twice gets both."""
    d_h, d_c = d_table
    for name, d in d_seen.items():
        d_row, at = tf.reshape(d, [-1, d.shape[-1]]), tf.reshape(rows[name], [-1])
        if name == "c":
            d_c = tf.raw_ops.InplaceAdd(x=d_c, i=at, v=d_row)
        else:
            d_h = tf.raw_ops.InplaceAdd(x=d_h, i=at, v=d_row)
    return d_h, d_c


def _with_rows(x, count):
    """x [rows, size] with rows of zeros after it, [count, size]."""
    return tf.pad(x, [[0, count - tf.shape(x)[0]], [0, 0]])


def new_table(leaf, parents):
    """Room for all nodes, [1 + words + parents, units], with the leaves [words, units] in their places."""
    words = tf.shape(leaf)[0]
    empty = tf.raw_ops.Empty(shape=[1 + words + parents, leaf.shape[1]], dtype=leaf.dtype, init=True)
    table = tf.raw_ops.InplaceUpdate(x=empty, i=1 + tf.range(words), v=leaf)
    return tf.ensure_shape(table, [None, leaf.shape[1]])


def _new_array(dtype, size, *columns):
    """An array of `size` tensors [rows, *columns], each with as many rows as it has."""
    shape = [None, *columns]
    return tf.TensorArray(dtype, size=size, element_shape=shape, infer_shape=False, clear_after_read=False)


def _pieces(x, counts):
    """x [rows, ...] as an array of its first rows, so many, then the next ones, …"""
    return _new_array(x.dtype, tf.size(counts), *x.shape[1:]).split(x, counts)


def _differences(ends):
    """[a, a + b, a + b + c] → [a, b, c]."""
    return ends - tf.pad(ends, [[1, 0]])[:-1]


def _read(arrays, t):
    return tf.nest.map_structure(lambda array: array.read(t), arrays)


def _write(arrays, t, values):
    return tf.nest.map_structure(lambda array, value: array.write(t, value), arrays, values)
