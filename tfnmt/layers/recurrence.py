"""The one `tf.while_loop` + `TensorArray` loop that every recurrence goes through.

A recurrence is h_i = φ(h_{i-1}, s_i): a `step` that is applied along time. What makes a static graph of it fast is what
is *not* in the loop. Products of the inputs are the caller's, one large product before the loop. Products with the
hidden state have to be inside, but their weights' gradients do not: dW = Σ_t h_tᵀ dz_t is one large product after the
loop.

So `recur` writes its gradient itself: one loop forward, which saves the states and every product, and one backward,
which computes the gradient of one `step` at a time (by TensorFlow, from the products saved) and leaves the dz_t for the
end. Its time and memory are linear in the length. TensorFlow's own gradient of a loop gives the same numbers, more
slowly: it multiplies by the weights once more in each step, and adds up gradients of whole sequences where one time is
meant.
"""

from collections.abc import Callable

import tensorflow as tf

from tfnmt.layers.int8 import Int8Matrix
from tfnmt.layers.invariants import (
    LoopInvariants,
    check_all_used,
    check_matrices,
    check_use,
    multiply,
    naming_variables,
)
from tfnmt.layers.saved_product import saved_product

Tensors = tuple[tf.Tensor, ...]

STEPS = 4
"""Where the time is known, up to so many steps make one iteration of the loop: an iteration has a cost of its own."""


def recur(
    step: Callable[[Tensors, Tensors, LoopInvariants], tuple[Tensors, Tensors]],
    inputs: Tensors,
    states: Tensors,
    weights: dict[str, tf.Tensor],
    output_sizes: tuple[int | None, ...],
    constants: dict[str, tf.Tensor] | None = None,
    mask: tf.Tensor | None = None,
    reverse: bool = False,
) -> tuple[Tensors, Tensors]:
    """Apply `step` at every time and return all outputs and the last states.

    Args:
        step: `step(inputs_t, states, invariants) -> (outputs_t, states)`, tuples of tensors [batch, size].
            `invariants` is a `LoopInvariants`: `invariants.matmul(name, value)` is `value @ weights[name]`, used
            exactly once for each name, and `invariants[name]` is `constants[name]`. The step depends on no other
            tensor: what it captured would get no gradient.
        inputs: a tuple of tensors [time, batch, size]; time first. Products that do not depend on the states are done.
        states: a tuple of tensors [batch, units], the states before the first step.
        weights: a dictionary of the matrices that the step multiplies with: [in, out], or [batch, in, out] for one
            matrix per example. One in a dtype of its own is multiplied in that. If one is an `Int8Matrix`, there is no
            gradient, and nothing is saved for one.
        output_sizes: a tuple with the last dimension of each output, None where it is known only when the graph runs.
        constants: a dictionary of further tensors that are the same at all times.
        mask: optional bool [time, batch]. Where it is False the states pass through unchanged, so padding changes
            nothing. An output that is one of the new states is the state passed on, too.
        reverse: go from the last time to the first. Outputs stay in the order of the inputs.

    Returns:
        (outputs, states): a tuple of tensors [time, batch, size], and the tuple of the states after the last step.

    Raises:
        ValueError: the step uses a weight twice, or not at all, or a variable that is not among them; a weight is no
            matrix.
    """
    check_matrices(weights)
    arguments = (tuple(inputs), tuple(states), dict(weights), dict(constants or {}))
    time = tf.shape(inputs[0])[0] if inputs[0].shape[0] is None else inputs[0].shape[0]
    order = (lambda i: time - 1 - i) if reverse else (lambda i: i)

    def masked_step(t, inputs_t, states, constants, matmul):
        outputs_t, new_states = step(inputs_t, states, LoopInvariants(matmul, constants))
        if mask is None:
            return tuple(outputs_t), tuple(new_states)
        real = mask[t][:, tf.newaxis]
        passed_on = {id(new): tf.where(real, new, old) for new, old in zip(new_states, states, strict=True)}
        return tuple(passed_on.get(id(x), x) for x in outputs_t), tuple(passed_on[id(new)] for new in new_states)

    if any(isinstance(weight, Int8Matrix) for weight in weights.values()):
        outputs, last, _ = _forward(masked_step, *arguments, output_sizes, time, order, save=False)
        return outputs, last

    @tf.custom_gradient
    def run(*flat):
        arguments_ = tf.nest.pack_sequence_as(arguments, flat)
        outputs, last, saved = _forward(masked_step, *arguments_, output_sizes, time, order)

        def gradient(*d_results):
            d_outputs, d_last = d_results[: len(outputs)], d_results[len(outputs) :]
            inputs, _, weights, constants = arguments_
            gradients = _backward(masked_step, inputs, weights, constants, saved, d_outputs, d_last, time, order)
            return tf.nest.flatten(gradients)

        return (*outputs, *last), gradient

    with naming_variables():
        results = run(*tf.nest.flatten(arguments))
    return tuple(results[: len(output_sizes)]), tuple(results[len(output_sizes) :])


def _forward(step, inputs, states, weights, constants, output_sizes, time, order, save=True):
    """All steps: the outputs, the last states, and what the backward loop needs: states, products and their factors."""
    dtype = states[0].dtype
    saved = {}
    if save:
        saved = {
            "states": tuple(_new_array(dtype, time, [state.shape[-1]]) for state in states),
            "factors": {name: _new_array(weight.dtype, time, [weight.shape[-2]]) for name, weight in weights.items()},
            "products": {name: _new_array(weight.dtype, time, [weight.shape[-1]]) for name, weight in weights.items()},
        }
    outputs = tuple(_new_array(dtype, time, [size]) for size in output_sizes)

    def body(i, states, outputs, saved):
        t = order(i)
        factors, products = {}, {}

        def matmul(name, value):
            check_use(name, factors, weights)
            weight = weights[name]
            factors[name] = tf.cast(value, weight.dtype) if save else value
            products[name] = multiply(factors[name], weight)
            return tf.cast(products[name], value.dtype)

        outputs_t, new_states = step(t, _at(inputs, t), states, constants, matmul)
        check_all_used(factors, weights)
        saved_t = {"states": states, "factors": factors, "products": products} if save else {}
        return i + 1, new_states, _write(outputs, t, outputs_t), _write(saved, t, saved_t)

    _, states, outputs, saved = _loop(time, body, (states, outputs, saved))
    return _stack(outputs), states, _stack(saved)


def _backward(step, inputs, weights, constants, saved, d_outputs, d_states, time, order):
    """The gradients of inputs, first states, weights and constants, given those of the outputs and the last states."""
    sequences = {"inputs": inputs, "d_outputs": d_outputs, **saved}
    transposed = {name: tf.linalg.matrix_transpose(weight) for name, weight in weights.items()}
    written = tuple(_new_array(x.dtype, time, x.shape[2:]) for x in inputs)
    dz = {name: _new_array(z.dtype, time, z.shape[2:]) for name, z in saved["products"].items()}
    d_constants = tf.nest.map_structure(tf.zeros_like, constants)

    def body(i, d_states, d_constants, d_inputs, dz):
        t = order(time - 1 - i)
        at = _at(sequences, t)
        dz_t = tf.nest.map_structure(tf.zeros_like, at["products"])

        def matmul(name, value):
            return saved_product(name, value, at["products"], transposed, dz_t)

        sources = (at["inputs"], at["states"], constants)
        with tf.GradientTape() as tape:
            tape.watch(sources)
            results = step(t, *sources, matmul)
        gradients = tape.gradient(results, sources, (at["d_outputs"], d_states), tf.UnconnectedGradients.ZERO)
        d_inputs_t, d_states, d_constants_t = gradients
        d_constants = tf.nest.map_structure(tf.add, d_constants, d_constants_t)
        return i + 1, d_states, d_constants, _write(d_inputs, t, d_inputs_t), _write(dz, t, dz_t)

    _, d_states, d_constants, d_inputs, dz = _loop(time, body, (tuple(d_states), d_constants, written, dz))
    dz = _stack(dz)
    d_weights = {name: _weight_gradient(weights[name], saved["factors"][name], dz[name]) for name in weights}
    return _stack(d_inputs), d_states, d_weights, d_constants


def _weight_gradient(weight, factors, dz):
    """Σ_t factors_tᵀ dz_t, in one product: factors [time, batch, in], dz [time, batch, out]."""
    if weight.shape.rank == 3:
        return tf.matmul(tf.transpose(factors, [1, 2, 0]), tf.transpose(dz, [1, 0, 2]))
    rows = tf.reshape(factors, [-1, weight.shape[0]])
    return tf.matmul(rows, tf.reshape(dz, [-1, weight.shape[1]]), transpose_a=True)


def _loop(time, body, carried):
    """`body` at every time."""
    steps = 1
    if isinstance(time, int):
        steps = max(steps for steps in range(1, STEPS + 1) if time % steps == 0)

    def iteration(*loop_state):
        for _ in range(steps):
            loop_state = body(*loop_state)
        return loop_state

    # Without maximum_iterations: it would let a GPU decide whether the loop goes on, and the host wait in every step.
    return tf.while_loop(lambda i, *_: i < time, iteration, (0, *carried))


def _new_array(dtype, time, shape):
    """An array of `time` tensors [batch, *shape]."""
    return tf.TensorArray(dtype, size=time, element_shape=tf.TensorShape([None]).concatenate(shape))


def _stack(arrays):
    return tf.nest.map_structure(lambda array: array.stack(), arrays)


def _at(structure, t):
    """What lies at time t in tensors [time, batch, ...]; where memory is aligned, nothing is copied for that."""
    # x[t], which would make these anew for each.
    begin, end, strides = tf.stack([t]), tf.stack([t + 1]), tf.constant([1])
    return tf.nest.map_structure(lambda x: tf.strided_slice(x, begin, end, strides, shrink_axis_mask=1), structure)


def _write(arrays, t, values):
    return tf.nest.map_structure(lambda array, value: array.write(t, value), arrays, values)
