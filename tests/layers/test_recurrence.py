"""`recur` is a plain Python loop: the same outputs, last states and gradients, in every way of running it."""

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.invariants import invariants_for_one_step, multiply, scoped, times
from tfnmt.layers.recurrence import recur

TIME, BATCH, UNITS = 5, 3, 2


def case(time=TIME):
    """Two states, a matrix for all examples (U) and one per example (A), and two constants (k and b)."""
    random = np.random.default_rng(1)
    shapes = {
        "s": [time, BATCH, UNITS],
        "h": [BATCH, UNITS],
        "c": [BATCH, UNITS],
        "U": [UNITS, UNITS],
        "A": [BATCH, UNITS, UNITS],
        "k": [BATCH, UNITS],
        "b": [UNITS],
    }
    return {name: tf.constant(random.normal(size=shape)) for name, shape in shapes.items()}


def step(inputs, states, invariants):
    (s,), (h, c) = inputs, states
    h = tf.tanh(s + invariants.matmul("U", h) + invariants["k"])
    c = tf.sigmoid(s) * c + invariants.matmul("A", h * invariants["k"]) + invariants["b"]
    return (c, h * c), (h, c)


def plain_loop(step, inputs, states, weights, output_sizes, constants, mask, reverse):
    """What `recur` means."""
    time = inputs[0].shape[0]
    outputs = [None] * time
    for t in reversed(range(time)) if reverse else range(time):
        (c, product), new = step(tuple(x[t] for x in inputs), states, invariants_for_one_step(weights, constants))
        keep = tf.ones([BATCH, 1], bool) if mask is None else mask[t][:, tf.newaxis]
        states = tuple(tf.where(keep, after, before) for after, before in zip(new, states, strict=True))
        assert c is new[1]  # an output that is a state is the state that is passed on
        outputs[t] = (states[1], product)
    return tuple(tf.stack(output) for output in zip(*outputs, strict=True)), states


def results_and_gradients(loop, values, mask, reverse):
    """Outputs, last states, and the gradients of a sum of all of them, each place with a weight of its own."""
    with tf.GradientTape() as tape:
        tape.watch(values)
        outputs, states = loop(
            step,
            inputs=(values["s"],),
            states=(values["h"], values["c"]),
            weights={"U": values["U"], "A": values["A"]},
            output_sizes=(UNITS, UNITS),
            constants={"k": values["k"], "b": values["b"]},
            mask=mask,
            reverse=reverse,
        )
        flat = tf.concat([tf.reshape(x, [-1]) for x in (*outputs, *states)], axis=0)
        loss = tf.reduce_sum(flat * tf.sin(1.0 + tf.range(tf.size(flat), dtype=flat.dtype)))
    return outputs, states, tape.gradient(loss, values)


def in_eager_mode(values, mask, reverse):
    return results_and_gradients(recur, values, mask, reverse)


def in_a_graph(values, mask, reverse):
    """No size but that of the states is known when the graph is made."""
    known = {"s": 1, "h": 1, "c": 1, "U": 2, "A": 2, "k": 1, "b": 1}
    signature = {}
    for name, value in values.items():
        unknown = value.shape.rank - known[name]
        signature[name] = tf.TensorSpec([None] * unknown + [UNITS] * known[name], value.dtype)
    masks = [] if mask is None else [mask]

    def run(values, *masks):
        return results_and_gradients(recur, values, *(masks or [None]), reverse)

    signatures = [signature, *(tf.TensorSpec([None, None], tf.bool) for _ in masks)]
    return tf.function(run, input_signature=signatures, autograph=False)(values, *masks)


def compiled(values, mask, reverse):
    def run(values, mask):
        return results_and_gradients(recur, values, mask, reverse)

    return tf.function(run, jit_compile=True, autograph=False)(values, mask)


MASK = tf.constant([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]]) == 1


@pytest.mark.parametrize(
    ("run", "masked", "reverse"),
    [(run, masked, reverse) for run in (in_eager_mode, in_a_graph) for masked in (0, 1) for reverse in (0, 1)]
    + [(compiled, True, True)],
)
def test_equals_a_plain_loop(run, masked, reverse):
    arguments = case(), MASK if masked else None, bool(reverse)
    expected = results_and_gradients(plain_loop, *arguments)
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-12), run(*arguments), expected)


@pytest.mark.parametrize("run", [in_eager_mode, in_a_graph])
def test_a_sequence_of_one(run):
    arguments = case(time=1), None, False
    expected = results_and_gradients(plain_loop, *arguments)
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-12), run(*arguments), expected)


@pytest.mark.parametrize("run", [in_eager_mode, in_a_graph])
def test_a_matrix_in_another_dtype_is_multiplied_in_that(run):
    """Outputs, and gradients that pass through it, are rounded as TensorFlow's own are. The gradient of the matrix is
    rounded once, where TensorFlow adds up the rounded gradients of all times."""
    values = case()
    values["U"] = tf.cast(values["U"], tf.bfloat16)
    outputs, states, gradients = run(values, MASK, True)
    expected_outputs, expected_states, expected = results_and_gradients(plain_loop, values, MASK, True)
    d, expected_d = tf.cast(gradients.pop("U"), tf.float64), tf.cast(expected.pop("U"), tf.float64)
    pairs = (outputs, states, gradients), (expected_outputs, expected_states, expected)
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-12), *pairs)
    np.testing.assert_allclose(d, expected_d, rtol=2**-6, atol=2**-7 * np.abs(expected_d).max())
    exact = results_and_gradients(plain_loop, case(), MASK, True)[2]
    np.testing.assert_allclose(gradients["s"], exact["s"], atol=0.1)
    assert np.abs(gradients["s"] - exact["s"]).max() > 1e-4


def test_second_derivatives_are_those_of_a_plain_loop():
    """Of the gradients' squares, by everything; U and A are matrices of both ranks."""

    def second(loop):
        values = case(time=3)
        with tf.GradientTape() as tape:
            tape.watch(values)
            gradients = results_and_gradients(loop, values, MASK[:3], True)[2]
            loss = tf.add_n([tf.reduce_sum(gradient**2) for gradient in tf.nest.flatten(gradients)])
        return tape.gradient(loss, values)

    tf.nest.map_structure(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10), second(recur), second(plain_loop)
    )


def test_masked_times_leave_the_states_as_they_were():
    values = case()
    mask = tf.constant([[t < 2] * BATCH for t in range(TIME)])
    _, states, gradients = in_eager_mode(values, mask, False)
    short = values | {"s": values["s"][:2]}
    _, expected, _ = in_eager_mode(short, None, False)
    for x, y in zip(states, expected, strict=True):
        np.testing.assert_array_equal(x, y)
    _, unmasked, _ = in_eager_mode(values, None, False)
    assert not np.allclose(unmasked[0], states[0])


def test_gradients_are_the_slopes_of_finite_differences():
    values = case()
    gradients = in_eager_mode(values, MASK, True)[2]

    def loss(values):
        outputs, states, _ = results_and_gradients(plain_loop, values, MASK, True)
        flat = np.concatenate([np.ravel(x) for x in (*outputs, *states)])
        return np.sum(flat * np.sin(1.0 + np.arange(flat.size)))

    random = np.random.default_rng(2)
    for name, value in values.items():
        direction = 1e-6 * random.normal(size=value.shape)
        slope = (loss(values | {name: value + direction}) - loss(values | {name: value - direction})) / 2
        np.testing.assert_allclose(slope, np.sum(gradients[name] * direction), rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda function: function, tf.function])
def test_a_weight_used_twice_is_an_error(wrap):
    values = case()

    def twice(inputs, states, invariants):
        (h,) = states
        h = invariants.matmul("U", invariants.matmul("U", h))
        return (h,), (h,)

    with pytest.raises(ValueError, match="'U'"):
        wrap(lambda: recur(twice, (values["s"],), (values["h"],), {"U": values["U"]}, (UNITS,)))()


def test_times_is_one_product_of_all_rows():
    x, weight = np.random.default_rng(3).normal(size=[2, 3, 4]), np.arange(8.0).reshape([4, 2])
    np.testing.assert_allclose(times(tf.constant(x), tf.constant(weight)), x @ weight)


def test_multiply_takes_one_matrix_for_all_or_one_per_example():
    random = np.random.default_rng(4)
    value, one, many = (tf.constant(random.normal(size=size)) for size in ([3, 4], [4, 2], [3, 4, 2]))
    np.testing.assert_allclose(multiply(value, one), value.numpy() @ one.numpy())
    np.testing.assert_allclose(multiply(value, many), np.einsum("bi,bio->bo", value, many))


def test_a_scope_sees_its_own_invariants():
    parts = {"lower": {"U": tf.constant([[2.0]]), "b": 1.0}, "upper": {"U": tf.constant([[3.0]])}}
    weights = scoped({part: {"U": named["U"]} for part, named in parts.items()})
    invariants = invariants_for_one_step(weights, {"lower/b": 1.0, "all": 5.0})
    assert invariants["all"] == 5
    lower, upper = invariants.scope("lower"), invariants.scope("upper")
    assert lower["b"] == 1
    assert "b" in lower
    assert "b" not in upper
    assert [part.matmul("U", tf.constant([[1.0]])).numpy().item() for part in (lower, upper)] == [2, 3]


def run(step):
    values = case()
    return recur(step, (values["s"],), (values["h"],), {"U": values["U"]}, (), {"k": values["k"]})


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (lambda s, h, invariants: ((), h), "a step uses each weight once, and does not use 'U'"),
        (lambda s, h, invariants: ((), (invariants.matmul("V", h[0]),)), r"uses the weight 'V'; the loop has \['U'\]"),
        (
            lambda s, h, invariants: ((), (invariants.matmul("U", invariants.matmul("U", h[0])),)),
            "a step uses each weight once, and uses 'U' again",
        ),
        (
            lambda s, h, invariants: ((), (invariants.matmul("U", h[0]) + invariants["b"],)),
            r"uses the constant 'b'; the loop has \['k'\], as `loop_constants` names them",
        ),
    ],
)
def test_a_weight_is_used_once(step, complaint):
    with pytest.raises(ValueError, match=complaint):
        run(step)


def test_a_variable_that_the_loop_does_not_know_is_named():
    scale = tf.Variable(2.0, dtype=tf.float64, name="scale")
    with pytest.raises(ValueError, match=r"the loop does not know \(scale:0\): name it in `loop_weights`"):
        run(lambda s, h, invariants: ((), (scale * invariants.matmul("U", h[0]),)))


def test_a_weight_that_is_no_matrix_is_named():
    values = case()
    weights = {"U": values["U"], "b": values["U"][0]}
    with pytest.raises(ValueError, match=r"the weight 'b' of a loop has the shape \(\d,\): .* in `loop_constants`"):
        recur(lambda s, h, invariants: ((), h), (values["s"],), (values["h"],), weights, ())
