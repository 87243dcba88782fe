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

from tfnmt.layers.recurrence import Held, multiply


def grow(step, leaves, children, ends, weights, constants, states=(), looks=None, look_ends=None, whose=None):
    """Make all parents, those of one iteration at once.

    Args:
        step: `step(seen, states, held) -> ((h, c), states)`, one iteration. `seen` is a dictionary: "h" and "c" of
            the children, [parents, 2, units]; with `looks`, "looks", the h seen there, [reading, looks, units], and
            "whose", int [parents]. It returns the parents (h, c), each [parents, units], and the new states.
            `held` is as in `recur`; the step depends on no other tensor.
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
    """
    arguments = (tuple(leaves), tuple(states), dict(weights), dict(constants))
    words = tf.shape(leaves[0])[0]
    sentences = tf.shape(states[0])[0] if states else 0
    schedule = _Schedule(words, sentences, children, ends, looks, look_ends, whose)

    def held_step(t, seen, states, constants, product):
        made, states = step(seen | schedule.numbers(t), states, Held(product, constants))
        return tuple(made), tuple(states)

    @tf.custom_gradient
    def run(*flat):
        leaves, states, weights, constants = tf.nest.pack_sequence_as(arguments, flat)
        table, states_after, products = _forward(held_step, schedule, leaves, states, weights, constants)

        def gradient(*d_results):
            d_table, d_states_after = d_results[:2], d_results[2:]
            known = (table, (states, states_after), weights, constants, products)
            return tf.nest.flatten(_backward(held_step, schedule, *known, d_table, d_states_after))

        return (*table, *states_after), gradient

    results = run(*tf.nest.flatten(arguments))
    return tuple(results[:2]), tuple(results[2:])


class _Schedule:
    """Which rows each iteration reads and writes; the arguments are those of `grow`."""

    def __init__(self, words, sentences, children, ends, looks, look_ends, whose):
        self.words, self.sentences = words, sentences
        self.children, self.looks, self.whose = children, looks, whose
        self.iterations = tf.shape(ends)[0]
        self.starts = tf.concat([[0], ends], axis=0)
        self.look_starts = self.starts if looks is None else tf.concat([[0], look_ends], axis=0)

    def read(self, t):
        """The rows that iteration t reads, by the names of what it sees there."""
        children = self.children[self.starts[t] : self.starts[t + 1]]
        rows = {"h": children, "c": children}
        return rows if self.looks is None else rows | {"looks": self.looks[self.steps(t)]}

    def numbers(self, t):
        """What else iteration t sees."""
        return {} if self.whose is None else {"whose": self.whose[self.starts[t] : self.starts[t + 1]]}

    def written(self, t):
        """The rows that iteration t writes: the first, and the one after the last."""
        return 1 + self.words + self.starts[t], 1 + self.words + self.starts[t + 1]

    def steps(self, t):
        """Where the looks of iteration t lie among all, as a slice."""
        return slice(self.look_starts[t], self.look_starts[t + 1])

    def reading(self, t):
        """How many sentences still read at iteration t."""
        return self.look_starts[t + 1] - self.look_starts[t]

    def states_before(self, t, states):
        """Those before iteration t, of the sentences that still read, among the first and all others [.., size]."""
        # All sentences have a first state; after iteration t − 1, those that read then.
        at = tf.where(t == 0, 0, self.sentences + self.look_starts[tf.maximum(t - 1, 0)])
        return tuple(x[at : at + self.reading(t)] for x in states)


def _forward(step, schedule, leaves, states, weights, constants):
    """All iterations: the table, the states after each, and the products, which the backward loop needs."""
    iterations = schedule.iterations
    table = tuple(new_table(leaf, tf.shape(schedule.children)[0]) for leaf in leaves)
    states = any_rows(states)
    states_after = tuple(_new_array(state.dtype, iterations, state.shape[1]) for state in states)
    products = {name: _new_array(weight.dtype, iterations, weight.shape[1]) for name, weight in weights.items()}

    def body(t, table, states, states_after, products):
        products_t = {}

        def product(name, value):
            products_t[name] = multiply(value, weights[name])
            return products_t[name]

        states = tuple(state[: schedule.reading(t)] for state in states)
        made, states = step(t, _see(schedule.read(t), *table), states, constants, product)
        rows = tf.range(*schedule.written(t))
        table = tuple(tf.raw_ops.InplaceUpdate(x=x, i=rows, v=value) for x, value in zip(table, made, strict=True))
        return t + 1, table, states, _write(states_after, t, states), _write(products, t, products_t)

    carried = (0, table, states, states_after, products)
    _, table, _, states_after, products = tf.while_loop(lambda t, *_: t < iterations, body, carried)
    return table, tuple(array.concat() for array in states_after), products


def _backward(step, schedule, table, states, weights, constants, products, d_table, d_states_after):
    """The gradients of leaves, first states, weights and constants, given those of the table and of all states."""
    iterations = schedule.iterations
    first_states, states_after = states
    transposed = {name: tf.linalg.matrix_transpose(weight) for name, weight in weights.items()}
    # Ours to change: what comes in may be used elsewhere too.
    d_table = tuple(tf.raw_ops.DeepCopy(x=tf.convert_to_tensor(d)) for d in d_table)
    d_states_after = tuple(tf.convert_to_tensor(d) for d in d_states_after)
    d_states = any_rows(tuple(d[:0] for d in d_states_after))  # nobody reads after the end
    factors = {name: _new_array(weight.dtype, iterations, weight.shape[0]) for name, weight in weights.items()}
    dz = {name: _new_array(weight.dtype, iterations, weight.shape[1]) for name, weight in weights.items()}
    d_constants = tf.nest.map_structure(tf.zeros_like, constants)
    # The states before an iteration are those after the one before it.
    shifted = tuple(tf.concat([x, y], axis=0) for x, y in zip(first_states, states_after, strict=True))

    def body(i, d_table, d_states, d_constants, factors, dz):
        t = iterations - 1 - i
        factors_t, dz_t = {}, {}

        def product(name, value):
            """The product is known already; its gradient is kept as well as passed on."""
            factors_t[name] = value

            @tf.custom_gradient
            def known(value):
                def gradient(d):
                    dz_t[name] = d
                    return multiply(d, transposed[name])

                return tf.identity(products[name].read(t)), gradient

            return known(value)

        rows = schedule.read(t)
        sources = (_see(rows, *table), schedule.states_before(t, shifted), constants)
        with tf.GradientTape() as tape:
            tape.watch(sources)
            results = step(t, *sources, product)
        first, end = schedule.written(t)
        d_made = tuple(d[first:end] for d in d_table)
        d_states = tuple(
            after[schedule.steps(t)] + _with_rows(d, schedule.reading(t))
            for d, after in zip(d_states, d_states_after, strict=True)
        )
        gradients = tape.gradient(results, sources, (d_made, d_states), tf.UnconnectedGradients.ZERO)
        d_seen, d_states, d_constants_t = gradients
        d_table = _add_seen(d_table, rows, d_seen)
        d_constants = tf.nest.map_structure(tf.add, d_constants, d_constants_t)
        return i + 1, d_table, d_states, d_constants, _write(factors, t, factors_t), _write(dz, t, dz_t)

    carried = (0, d_table, d_states, d_constants, factors, dz)
    _, d_table, d_states, d_constants, factors, dz = tf.while_loop(lambda i, *_: i < iterations, body, carried)
    d_leaves = tuple(d[1 : 1 + schedule.words] for d in d_table)
    d_first = tuple(_with_rows(d, tf.shape(first)[0]) for d, first in zip(d_states, first_states, strict=True))
    d_weights = {name: tf.matmul(factors[name].concat(), dz[name].concat(), transpose_a=True) for name in weights}
    return d_leaves, d_first, d_weights, d_constants


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


def any_rows(tensors):
    """The same tensors [rows, ...], of which a graph does not know how many rows they have, as a loop wants them that
    has more or fewer of them each time.
    """
    return tuple(
        tf.raw_ops.PlaceholderWithDefault(input=x, shape=tf.TensorShape([None]).concatenate(x.shape[1:]))
        for x in tensors
    )


def new_table(leaf, parents):
    """Room for all nodes, [1 + words + parents, units], with the leaves [words, units] in their places."""
    words = tf.shape(leaf)[0]
    empty = tf.raw_ops.Empty(shape=[1 + words + parents, leaf.shape[1]], dtype=leaf.dtype, init=True)
    table = tf.raw_ops.InplaceUpdate(x=empty, i=1 + tf.range(words), v=leaf)
    return tf.ensure_shape(table, [None, leaf.shape[1]])


def _new_array(dtype, size, columns):
    """An array of `size` tensors [rows, columns], each with as many rows as it has."""
    return tf.TensorArray(dtype, size=size, element_shape=[None, columns], infer_shape=False)


def _write(arrays, t, values):
    return tf.nest.map_structure(lambda array, value: array.write(t, value), arrays, values)
