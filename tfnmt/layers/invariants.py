"""What a step of a recurrence has of its layer: matrices to multiply with and other constants, the same at all times.

Layers name them by `loop_weights` and `loop_constants`; a loop gives them to its steps as `LoopInvariants`, and decides
what a product is there: kept for the gradient, or of one matrix for several rows of a search.
"""

import contextlib
import contextvars
import re
from collections.abc import Callable, Collection, Iterator, Mapping

import keras
import tensorflow as tf

from tfnmt.layers.int8 import Int8Matrix, int8_matrix


def multiply(value: tf.Tensor, weight: tf.Tensor | Int8Matrix, rows: int = 1) -> tf.Tensor:
    """`value` [batch, in] times `weight` [in, out], or [batch, in, out] (one matrix per example): [batch, out].

    With `rows`, `value` has so many rows for each example, one after the other, and the product too.
    A weight in a type of its own is multiplied in that; the product has the type of `value`.
    """
    if isinstance(weight, Int8Matrix):
        return weight.multiply(value)
    if weight.shape.rank == 2:
        return tf.cast(tf.matmul(tf.cast(value, weight.dtype), weight), value.dtype)
    product = tf.matmul(tf.reshape(value, [-1, rows, tf.shape(weight)[1]]), weight)
    product = tf.reshape(product, [-1, tf.shape(weight)[2]])
    product.set_shape([None, weight.shape[2]])
    return product


def times(x: tf.Tensor, weight: tf.Tensor | Int8Matrix) -> tf.Tensor:
    """x [..., in] times weight [in, out], all rows as one product. Returns [..., out]."""
    product = multiply(tf.reshape(x, [-1, weight.shape[0]]), weight)
    return tf.reshape(product, tf.concat([tf.shape(x)[:-1], [weight.shape[1]]], axis=0))


class LoopInvariants:
    """The tensors that are the same at all times, as a step uses them: matrices and other constants, by name.

    The values that a step computes have `rows` rows for each example of the tensors here, one after the other.
    """

    def __init__(
        self,
        matmul: Callable[[str, tf.Tensor], tf.Tensor],
        constants: dict[str, tf.Tensor],
        prefix: str = "",
        rows: int = 1,
    ):
        self._matmul, self._constants, self._prefix, self._rows = matmul, constants, prefix, rows

    def matmul(self, name: str, value: tf.Tensor) -> tf.Tensor:
        """`value` [batch, in] times the matrix of that name, [batch, out]."""
        return self._matmul(self._prefix + name, value)

    def add(self, name: str, value: tf.Tensor) -> tf.Tensor:
        """`value` [batch, ...] plus the constant of that name, which has one entry for each example."""
        if self._rows == 1:
            return value + self[name]
        of_examples = tf.reshape(value, tf.concat([[-1, self._rows], tf.shape(value)[1:]], axis=0))
        total = of_examples + self[name][:, tf.newaxis]
        return tf.reshape(total, tf.concat([[-1], tf.shape(total)[2:]], axis=0))

    def __getitem__(self, name: str) -> tf.Tensor:
        """The constant of that name.

        Raises:
            ValueError: the loop has none of that name.
        """
        name = self._prefix + name
        if name not in self._constants:
            known = sorted(self._constants)
            raise ValueError(f"a step uses the constant {name!r}; the loop has {known}, as `loop_constants` names them")
        return self._constants[name]

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._constants

    def scope(self, name: str) -> "LoopInvariants":
        """The invariants of one layer of the step: "x" there is "NAME/x" here."""
        return LoopInvariants(self._matmul, self._constants, f"{self._prefix}{name}/", self._rows)


def check_matrices(weights: Mapping[str, tf.Tensor | Int8Matrix]) -> None:
    """Raise `ValueError` if one of the weights of a loop is no matrix, and no matrix for each example."""
    for name, weight in weights.items():
        if weight.shape.rank not in (2, 3):
            raise ValueError(
                f"the weight {name!r} of a loop has the shape {weight.shape}: `loop_weights` names matrices to multiply"
                " with, [in, out]; name all else in `loop_constants`"
            )


def check_use(name: str, used: Collection[str], weights: Collection[str]) -> None:
    """Raise `ValueError` if a step multiplies with a matrix that it has not, or has used."""
    if name not in weights:
        raise ValueError(
            f"a step uses the weight {name!r}; the loop has {sorted(weights)}, as `loop_weights` names them"
        )
    if name in used:
        raise ValueError(f"a step uses each weight once, and uses {name!r} again")


def check_all_used(used: Collection[str], weights: Collection[str]) -> None:
    """Raise `ValueError` if a step has not used a matrix that the loop has for it."""
    if unused := sorted(set(weights) - set(used)):
        raise ValueError(f"a step uses each weight once, and does not use {unused[0]!r}")


@contextlib.contextmanager
def naming_variables() -> Iterator[None]:
    """Around a loop with a gradient of its own: say what to do where its step uses a variable that it is not given.

    Raises:
        ValueError: it does; TensorFlow's own error asks for another signature of the gradient.
    """
    try:
        yield
    except TypeError as error:
        if "keyword argument 'variables'" not in str(error):
            raise
        names = ", ".join(re.findall("tf.Variable '([^']+)'", str(error)))
        raise ValueError(
            f"a step of a loop uses a variable that the loop does not know ({names}): name it in `loop_weights`, if it"
            " is a matrix to multiply with, or else in `loop_constants`"
        ) from error


def invariants_for_one_step(
    weights: dict[str, tf.Tensor], constants: dict[str, tf.Tensor], rows: int = 1
) -> LoopInvariants:
    """What `recur` gives its steps, for one step outside any loop, as searches take it; `rows` for each example."""
    return LoopInvariants(lambda name, value: multiply(value, weights[name], rows), constants, rows=rows)


def scoped(tensors: dict[str, dict[str, tf.Tensor]]) -> dict[str, tf.Tensor]:
    """{scope: {name: tensor}} → {"scope/name": tensor}, as `LoopInvariants.scope` looks for them."""
    return {f"{scope}/{name}": tensor for scope, named in tensors.items() for name, tensor in named.items()}


def cast_weight(layer: keras.layers.Layer, variable: keras.Variable) -> tf.Tensor:
    """A layer's variable in the dtype that the layer computes in.

    Keras casts by itself where a layer is called; `step` and other methods of a layer that searches call directly are
    to compute in the same dtype.
    """
    return tf.cast(tf.convert_to_tensor(variable), layer.compute_dtype)


_PRODUCTS_IN: contextvars.ContextVar[str | None] = contextvars.ContextVar("products in", default=None)


@contextlib.contextmanager
def products_in(dtype: str | None) -> Iterator[None]:
    """Within the block, layers multiply with their matrices in this dtype, and compute all else in their own; None
    for all in their own. On processors, bfloat16 makes products faster, and sums, gates and masks slower."""
    token = _PRODUCTS_IN.set(dtype)
    try:
        yield
    finally:
        _PRODUCTS_IN.reset(token)


def cast_matrix(layer: keras.layers.Layer, variable: keras.Variable) -> tf.Tensor | Int8Matrix:
    """A layer's matrix as `multiply` and `times` take it: what `int8_matrices` has in its place, in the dtype of
    `products_in`, or in that which the layer computes in."""
    if (matrix := int8_matrix(variable)) is not None:
        return matrix
    return tf.cast(tf.convert_to_tensor(variable), _PRODUCTS_IN.get() or layer.compute_dtype)
