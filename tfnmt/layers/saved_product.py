"""The products of a loop that writes its own gradient, as its backward loop takes them."""

import tensorflow as tf

from tfnmt.layers.invariants import multiply


def saved_product(
    name: str,
    value: tf.Tensor,
    products: dict[str, tf.Tensor],
    transposed: dict[str, tf.Tensor],
    dz: dict[str, tf.Tensor],
) -> tf.Tensor:
    """z = value · W of the forward loop, which is not computed again, with the gradient of a product.

    Args:
        name: of the matrix W.
        value: [batch, in].
        products: z, [batch, out], of each matrix.
        transposed: Wᵀ of each matrix, [out, in], or [batch, out, in].
        dz: where the gradient of z is put, by the name of the matrix, when it is known. The gradient of W is one
            product of all dz after the loop.
    """

    @tf.custom_gradient
    def product(value, Wt):
        def gradient(d):
            dz[name] = tf.cast(d, products[name].dtype)
            return multiply(d, Wt), _gradient_of_transposed(Wt, tf.cast(d, Wt.dtype), tf.cast(value, Wt.dtype))

        return tf.identity(tf.cast(products[name], value.dtype)), gradient

    return product(value, transposed[name])


def _gradient_of_transposed(Wt, d, value):
    """Only second derivatives ask for it; else no graph computes it."""
    if Wt.shape.rank == 3:
        return d[:, :, tf.newaxis] * value[:, tf.newaxis]
    return tf.matmul(d, value, transpose_a=True)
