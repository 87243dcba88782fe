"""The one loop in which trees grow: nodes are made from nodes made before.

What SHIFT and REDUCE will pop is known from the transitions alone, before any number is computed. So the stack needs
no popping and no copies ("thin stack", Bowman et al. 2016, arXiv:1603.06021, section 4.2): all nodes of a batch lie in
one table, a row each, in the order in which they are made, and what a stack would hold are numbers of rows.

        row 0                 nothing: what an empty stack or buffer shows, zeros
        rows 1 … words        the leaves
        rows words + 1 …      the parents, those of one iteration side by side

A row is written once, before anything reads it. That is why the table may be changed in place; TensorFlow would
otherwise copy all of it in every iteration, and the gradient of each look at it would be as large as the table.

As in `tfnmt.layers.recurrence`, the gradient is written here: one loop forward, one loop backward, whose time and
memory are linear in the number of nodes, and every weight's gradient as one product after it.
"""

import tensorflow as tf

from tfnmt.layers.recurrence import Held, multiply
from tfnmt.text.parses import NOTHING, REDUCE, SHIFT


def grow(step, leaves, children, ends, weights, constants, looks=None, whose=None, states=()):
    """Make all parents, those of one iteration at once.

    Args:
        step: `step(seen, states, held) -> ((h, c), states)`, one iteration. `seen` is a dictionary: "h" and "c" of
            the children, [parents, 2, units]; with `looks`, "looks", the h seen there, [sentences, looks, units], and
            "whose", int32 [parents]. It returns the parents (h, c), each [parents, units], and the new states.
            `held` is as in `recur`; the step depends on no other tensor.
        leaves: (h, c), each float [words, units].
        children: int32 [all_parents, 2], the rows of each parent's left and right child, in the order in which
            parents are made.
        ends: int32 [iterations], how many parents are made when each iteration is over.
        weights, constants: as in `recur`; matrices are [in, out].
        looks: optional int32 [iterations, sentences, looks], rows of which the step sees h.
        whose: with `looks`, int32 [all_parents], the sentence of each parent.
        states: a tuple of tensors [sentences, size] that go from one iteration to the next.

    Returns:
        ((h, c), states): the table, each [1 + words + all_parents, units], and a tuple of the states after every
        iteration, [iterations, sentences, size].
    """
    arguments = (tuple(leaves), tuple(states), dict(weights), dict(constants))
    words = tf.shape(leaves[0])[0]
    starts = tf.concat([[0], ends], axis=0)

    def look_up(t, h, c):
        """What the step of iteration t sees, and the rows where it sees it."""
        rows = {"h": children[starts[t] : starts[t + 1]]}
        rows["c"] = rows["h"]
        if looks is not None:
            rows["looks"] = looks[t]
        return {name: tf.gather(c if name == "c" else h, at) for name, at in rows.items()}, rows

    def numbered_step(t, seen, states, constants, product):
        if whose is not None:
            seen = seen | {"whose": whose[starts[t] : starts[t + 1]]}
        made, states = step(seen, states, Held(product, constants))
        return tuple(made), tuple(states)

    def new_rows(t):
        return 1 + words + tf.range(starts[t], starts[t + 1])

    @tf.custom_gradient
    def run(*flat):
        leaves, states, weights, constants = tf.nest.pack_sequence_as(arguments, flat)
        table = tuple(_table(leaf, tf.shape(children)[0]) for leaf in leaves)
        iterations = tf.shape(ends)[0]
        table, states_after, products = _forward(
            numbered_step, look_up, new_rows, table, states, weights, constants, iterations
        )

        def gradient(*d_results):
            d_table, d_states_after = d_results[:2], d_results[2:]
            before = _one_earlier(states, states_after)
            d_table, *others = _backward(
                numbered_step, look_up, new_rows, table, before, weights, constants, products, d_table, d_states_after
            )
            d_leaves = tuple(d[1 : 1 + words] for d in d_table)
            return tf.nest.flatten((d_leaves, *others))

        return (*table, *states_after), gradient

    results = run(*tf.nest.flatten(arguments))
    return tuple(results[:2]), tuple(results[2:])


def _forward(step, look_up, new_rows, table, states, weights, constants, iterations):
    """All iterations: the table, the states after each, and the products, which the backward loop needs."""
    dtype = table[0].dtype
    states_after = tuple(_new_array(dtype, iterations, state.shape[-1]) for state in states)
    products = {name: _new_array(dtype, iterations, weight.shape[-1]) for name, weight in weights.items()}

    def body(t, table, states, states_after, products):
        products_t = {}

        def product(name, value):
            products_t[name] = multiply(value, weights[name])
            return products_t[name]

        seen, _ = look_up(t, *table)
        made, states = step(t, seen, states, constants, product)
        rows = new_rows(t)
        table = tuple(tf.raw_ops.InplaceUpdate(x=x, i=rows, v=value) for x, value in zip(table, made, strict=True))
        return t + 1, table, states, _write(states_after, t, states), _write(products, t, products_t)

    carried = (0, table, states, states_after, products)
    _, table, _, states_after, products = tf.while_loop(lambda t, *_: t < iterations, body, carried)
    return table, tuple(array.stack() for array in states_after), products


def _backward(step, look_up, new_rows, table, states_before, weights, constants, products, d_table, d_states_after):
    """The gradients of the table, first states, weights and constants, given those of the table and all states."""
    iterations = next(iter(products.values())).size()
    dtype = table[0].dtype
    transposed = {name: tf.linalg.matrix_transpose(weight) for name, weight in weights.items()}
    # Ours to change: what comes in may be used elsewhere too.
    d_table = tuple(tf.raw_ops.DeepCopy(x=tf.convert_to_tensor(d)) for d in d_table)
    d_states = tuple(tf.zeros_like(states[0]) for states in d_states_after)
    factors = {name: _new_array(dtype, iterations, weight.shape[0]) for name, weight in weights.items()}
    dz = {name: _new_array(dtype, iterations, weight.shape[1]) for name, weight in weights.items()}
    d_constants = tf.nest.map_structure(tf.zeros_like, constants)

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

        seen, rows = look_up(t, *table)
        sources = (seen, tuple(states[t] for states in states_before), constants)
        with tf.GradientTape() as tape:
            tape.watch(sources)
            made, states = step(t, *sources, product)
        d_made = tuple(tf.gather(d, new_rows(t)) for d in d_table)
        d_states = tuple(d + after[t] for d, after in zip(d_states, d_states_after, strict=True))
        gradients = tape.gradient((made, states), sources, (d_made, d_states), tf.UnconnectedGradients.ZERO)
        d_seen, d_states, d_constants_t = gradients
        d_h, d_c = d_table
        for name, d in d_seen.items():
            if name == "c":
                d_c = _add_rows(d_c, rows[name], d)
            else:
                d_h = _add_rows(d_h, rows[name], d)
        d_constants = tf.nest.map_structure(tf.add, d_constants, d_constants_t)
        return i + 1, (d_h, d_c), d_states, d_constants, _write(factors, t, factors_t), _write(dz, t, dz_t)

    carried = (0, d_table, d_states, d_constants, factors, dz)
    results = tf.while_loop(lambda i, *_: i < iterations, body, carried)
    _, d_table, d_states, d_constants, factors, dz = results
    d_weights = {name: tf.matmul(factors[name].concat(), dz[name].concat(), transpose_a=True) for name in weights}
    return d_table, d_states, d_weights, d_constants


def parse(track, choose, compose, leaves, lengths, states):
    """Let the model decide every transition as it reads, which makes a binary tree of any sentence.

    The stack is a list linked through the table: each node knows what lies below it. SHIFT is legal while words remain,
    REDUCE while two nodes lie on the stack. Only whole numbers come out of it, so it has no gradient: grow the trees
    again, from the transitions, where one is wanted.

    Args:
        track: `track(looks, states) -> states`, the tracker: looks float [sentences, 3, units] are h of the buffer's
            first word, of the top of the stack and of what is below that, zeros for nothing.
        choose: `choose(t, states, legal) -> moves`: step t's states and legal, bool [sentences, 2], whether SHIFT and
            REDUCE may be; moves, int32 [sentences], 0 for SHIFT and 1 for REDUCE, any where neither may be.
        compose: `compose(h, c, tracking) -> (h, c)`: children [parents, 2, units], and the parents' states[0].
        leaves: (h, c), each float [sentences · words, units].
        lengths: int32 [sentences], how many words each sentence has.
        states: a tuple of tensors [sentences, size], before the first step.

    Returns:
        Transitions, int32 [sentences, 2 · words − 1], NOTHING after a sentence's tree is complete.
    """
    sentences = tf.shape(lengths)[0]
    words = tf.shape(leaves[0])[0] // sentences
    steps = 2 * words - 1
    table = tuple(_table(leaf, steps * sentences) for leaf in leaves)
    below = tf.raw_ops.Empty(shape=tf.shape(table[0])[:1], dtype=tf.int32, init=True)
    nothing = tf.zeros_like(lengths)

    def body(t, table, below, states, shifted, top, second, transitions):
        h, c = table
        legal = tf.stack([shifted < lengths, second > 0], axis=1)
        word = tf.where(legal[:, 0], 1 + words * tf.range(sentences) + shifted, 0)
        states = track(tf.gather(h, tf.stack([word, top, second], axis=1)), states)
        move = choose(t, states, legal)
        shift, reduce = (move == 0) & legal[:, 0], (move == 1) & legal[:, 1]

        reducing = tf.where(reduce)[:, 0]
        children = tf.gather(tf.stack([second, top], axis=1), reducing)
        made = compose(tf.gather(h, children), tf.gather(c, children), tf.gather(states[0], reducing))
        parents = 1 + sentences * (words + t) + tf.range(sentences)
        rows = tf.gather(parents, reducing)
        table = tuple(tf.raw_ops.InplaceUpdate(x=x, i=rows, v=value) for x, value in zip(table, made, strict=True))

        node = tf.where(shift, word, tf.where(reduce, parents, top))
        under = tf.where(shift, top, tf.where(reduce, tf.gather(below, second), second))
        below = tf.raw_ops.InplaceUpdate(x=below, i=tf.where(shift | reduce, node, parents), v=under)
        transition = tf.where(shift, SHIFT, tf.where(reduce, REDUCE, NOTHING))
        shifted += tf.cast(shift, tf.int32)
        return t + 1, table, below, states, shifted, node, under, transitions.write(t, transition)

    transitions = tf.TensorArray(tf.int32, size=steps, element_shape=[None])
    carried = (0, table, below, states, nothing, nothing, nothing, transitions)
    *_, transitions = tf.while_loop(lambda t, *_: t < steps, body, carried)
    return tf.transpose(transitions.stack())


def _table(leaf, parents):
    """Room for all nodes, [1 + words + parents, units], with the leaves [words, units] in their places."""
    words = tf.shape(leaf)[0]
    empty = tf.raw_ops.Empty(shape=[1 + words + parents, leaf.shape[1]], dtype=leaf.dtype, init=True)
    table = tf.raw_ops.InplaceUpdate(x=empty, i=1 + tf.range(words), v=leaf)
    return tf.ensure_shape(table, [None, leaf.shape[1]])


def _add_rows(table, rows, values):
    """Add values [..., units] to the table's rows [...], in place; what comes twice is added twice."""
    flat = tf.reshape(values, [-1, values.shape[-1]])
    return tf.raw_ops.InplaceAdd(x=table, i=tf.reshape(rows, [-1]), v=flat)


def _one_earlier(first, after):
    """States before every iteration, from the first and those after every iteration."""
    return tuple(tf.concat([x[tf.newaxis], y[:-1]], axis=0) for x, y in zip(first, after, strict=True))


def _new_array(dtype, size, columns):
    """An array of `size` tensors [rows, columns], each with as many rows as it has."""
    return tf.TensorArray(dtype, size=size, element_shape=[None, columns], infer_shape=False)


def _write(arrays, t, values):
    return tf.nest.map_structure(lambda array, value: array.write(t, value), arrays, values)
