"""The one `tf.while_loop` + `TensorArray` loop that every recurrence goes through.

A recurrence is h_i = φ(h_{i-1}, s_i): a `step` that is applied along time. What makes a static graph of it
fast is what is *not* in the loop. Products of the inputs are the caller's, one large product before the loop.
Products with the hidden state have to be inside, but their weights' gradients do not: dW = Σ_t h_tᵀ dz_t is
one large product after the backward loop. `recur` does that for every product that the step takes through
`product(name, value)`, so a step reads like its equation and pays nothing for it.
"""

import tensorflow as tf


def recur(step, inputs, states, weights, output_sizes, mask=None, reverse=False):
    """Apply `step` at every time and return all outputs and the last states.

    Args:
        step: `step(inputs_t, states, product) -> (outputs_t, states)`, both tuples of tensors [batch, size].
            `product(name, value)` is `value @ weights[name]`; the step uses each name exactly once.
        inputs: a tuple of tensors [time, batch, size]; time first. Products that do not depend on the states
            are done already.
        states: a tuple of tensors [batch, units], the states before the first step.
        weights: a dictionary of the matrices that the step multiplies with: [in, out], or [batch, in, out]
            for one matrix per example.
        output_sizes: a tuple with the last dimension of each output, None where it is known only when the
            graph runs.
        mask: optional bool [time, batch]. Where it is False the states pass through unchanged, so padding
            changes nothing.
        reverse: go from the last time to the first. Outputs stay in the order of the inputs.

    Returns:
        (outputs, states): a tuple of tensors [time, batch, size], and the tuple of the states after the last
        step.

    Raises:
        ValueError: the step uses a weight twice.
    """
    time, batch = tf.unstack(tf.shape(inputs[0])[:2])
    dtype = states[0].dtype
    used = {}  # what each weight was multiplied with, [time, batch, in]; filled after the loop, for gradients
    zeros = {name: _gradient_probe(name, weight, time, batch, used) for name, weight in weights.items()}
    constants = {name: tf.stop_gradient(weight) for name, weight in weights.items()}
    keep = () if mask is None else (mask[:, :, tf.newaxis],)
    read = tf.nest.map_structure(
        lambda x: _new_array(x.dtype, time, x.shape[2:]).unstack(x), (tuple(inputs), zeros, keep)
    )
    written = (
        tuple(_new_array(dtype, time, [size]) for size in output_sizes),
        {name: _new_array(dtype, time, [weight.shape[-2]]) for name, weight in weights.items()},
    )

    def body(i, states, written):
        t = time - 1 - i if reverse else i
        inputs_t, zeros_t, keep_t = tf.nest.map_structure(lambda array: array.read(t), read)
        used_t = {}

        def product(name, value):
            if name in used_t:
                raise ValueError(f"a step uses each weight once, and uses {name!r} again")
            used_t[name] = tf.stop_gradient(value)
            return multiply(value, constants[name]) + zeros_t[name]

        outputs_t, new_states = step(inputs_t, states, product)
        if mask is not None:
            new_states = tuple(tf.where(*keep_t, new, old) for new, old in zip(new_states, states, strict=True))
        written = tf.nest.map_structure(lambda array, value: array.write(t, value), written, (tuple(outputs_t), used_t))
        return i + 1, new_states, written

    _, states, written = tf.while_loop(
        lambda i, *_: i < time, body, (0, tuple(states), written), maximum_iterations=time
    )
    outputs, used_everywhere = tf.nest.map_structure(lambda array: array.stack(), written)
    used.update(used_everywhere)
    return outputs, states


def multiply(value, weight):
    """`value` [batch, in] times `weight`: [in, out], or [batch, in, out] for one matrix per example.

    Returns: [batch, out].
    """
    if weight.shape.rank == 2:
        return tf.matmul(value, weight)
    return tf.squeeze(tf.matmul(value[:, tf.newaxis, :], weight), axis=1)


def times(x, weight):
    """x [..., in] times weight [in, out], all rows as one product. Returns [..., out]."""
    product = tf.matmul(tf.reshape(x, [-1, weight.shape[0]]), weight)
    return tf.reshape(product, tf.concat([tf.shape(x)[:-1], [weight.shape[1]]], axis=0))


def single_step_product(weights):
    """The `product` of one step outside any loop, as searches take it: `value @ weights[name]`."""
    return lambda name, value: multiply(value, weights[name])


def _new_array(dtype, time, shape):
    return tf.TensorArray(dtype, size=time, element_shape=tf.TensorShape([None]).concatenate(shape))


def _gradient_probe(name, weight, time, batch, used):
    """Zeros [time, batch, out], added to a product in the loop so that their gradient is the product's: dz_t.

    The gradient of `weight` follows from it after the loop, in one product:
    Σ_t (what the weight was multiplied with at t)ᵀ dz_t.
    """

    @tf.custom_gradient
    def probe(weight):
        def gradient(dz):
            if weight.shape.rank == 3:
                return tf.matmul(tf.transpose(used[name], [1, 2, 0]), tf.transpose(dz, [1, 0, 2]))
            rows = tf.reshape(used[name], [-1, weight.shape[0]])
            return tf.matmul(rows, tf.reshape(dz, [-1, weight.shape[1]]), transpose_a=True)

        return tf.zeros([time, batch, tf.shape(weight)[-1]], weight.dtype), gradient

    zeros = probe(tf.convert_to_tensor(weight))
    return tf.ensure_shape(zeros, [None, None, weight.shape[-1]])
