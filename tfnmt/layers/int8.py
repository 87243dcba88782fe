"""Products in int8: what a translator computes with that searches in `precision=int8`.

A column k of a matrix W is int8 times a scale of its own, and so is x, whose scale is fixed beforehand by a bound of
its values (`tfnmt.layers.bounds`). oneDNN adds the products of both in int32, without any rounding, before the scales
are applied:

    (xW)_k ≈ (bound / 127) (limit_k / 127) Σ_i q(x_i) q(W_ik)     q(v) = round(127 v / limit)

So a row of the result depends on no other row. TensorFlow has no public name for oneDNN's operation.

Processors without VNNI add the products in pairs of 16 bits, which weights of eight bits overflow, and weights of seven
do not (the "reduced range" of other toolkits): (127 + 128)·2·64 < 2^15. There, q of weights has 64 in the place of 127.
"""

import contextlib
import contextvars
import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import tensorflow as tf

from tfnmt.errors import UserError

LEVELS = 127
"""The largest int8 that is used; −128 is not, so that the scale is the same on both sides of 0."""

REDUCED_LEVELS = 64
"""The largest int8 of a weight with which no sum overflows on processors without VNNI."""

SMALLEST = 1e-30
"""What a row of zeros is divided by in place of its largest value."""


@dataclasses.dataclass(frozen=True)
class Int8Matrix:
    """A matrix W [in, out] as int8, to be multiplied with values within a known bound, or scaled row by row.

    With `transposed` it is also a table of `out` vectors, such as those of words.
    """

    values: tf.Tensor
    """int8 [in, out], or [out, in] if `transposed`."""
    limits: tf.Tensor
    """float32 [out]: what 127 stands for in each column."""
    bound: float | None
    """The largest absolute value of what it is multiplied with; what is larger counts as the bound. Without one, each
    row of that is scaled by its own largest absolute value."""
    transposed: bool = False
    constant: bool = True
    """Whether the values never change: oneDNN then keeps a copy of them, in the layout that is fastest."""

    @property
    def shape(self) -> tf.TensorShape:
        """[in, out]."""
        return tf.TensorShape(self.values.shape[::-1] if self.transposed else self.values.shape)

    def multiply(self, x: tf.Tensor) -> tf.Tensor:
        """xW: float32 [rows, in] → float32 [rows, out]."""
        if tf.executing_eagerly():  # the operation can be made in a graph only
            return tf.function(dataclasses.replace(self, constant=False).multiply, autograph=False)(x)
        if self.bound is None:
            largest = tf.maximum(tf.reduce_max(tf.abs(x), axis=1, keepdims=True), SMALLEST)
            return dataclasses.replace(self, bound=1.0).multiply(x / largest) * largest
        quantized = tf.raw_ops.QuantizeV2(
            input=x,
            min_range=-self.bound,
            max_range=self.bound,
            T=tf.qint8,
            mode="SCALED",
            round_mode="HALF_TO_EVEN",
            narrow_range=True,
        ).output
        sums = _sums_of_products(quantized, self)
        sums.set_shape([x.shape[0], self.limits.shape[0]])
        return sums * (self.limits * (self.bound / LEVELS**2))

    def vectors(self, ids: tf.Tensor) -> tf.Tensor:
        """The vectors of a table: int [...] → float32 [..., in]."""
        scales = tf.gather(self.limits, ids) / LEVELS
        return tf.cast(tf.gather(self.values, ids), tf.float32) * scales[..., tf.newaxis]

    def columns(self, ids: tf.Tensor) -> tf.Tensor:
        """Some columns as a matrix: int32 [n] → float32 W[:, ids], [in, n].

        In float32, since columns of which others are wanted for every batch are faster so: oneDNN would bring their
        int8 into its own layout again for every product.
        """
        if self.transposed:
            return tf.transpose(self.vectors(ids))
        return tf.cast(tf.gather(self.values, ids, axis=1), tf.float32) * (tf.gather(self.limits, ids) / LEVELS)


def _sums_of_products(x: tf.Tensor, matrix: Int8Matrix) -> tf.Tensor:
    """Σ_i x_i values_ik: qint8 [rows, in] → float32 [rows, out], whole numbers.

    The operation could scale them, too. But TensorFlow keeps what it prepares for oneDNN by where in memory the scales
    are, whatever they are by now: so it gets the same for all.
    """
    bias = tf.zeros_like(matrix.limits)  # it insists on one
    device_inputs = [x, tf.bitcast(matrix.values, tf.qint8), bias]
    most = tf.constant(LEVELS, tf.float32)
    host_inputs = [-most, most, -most, most]
    attributes = {
        "Tdevice_inputs": _types(device_inputs),
        "Thost_inputs": _types(host_inputs),
        "Tdevice_outputs": _value(list=_list(type=[tf.float32.as_datatype_enum])),
        "Thost_outputs": _value(list=_list()),
        "T1": _value(type=tf.qint8.as_datatype_enum),
        "T2": _value(type=tf.qint8.as_datatype_enum),
        "Tbias": _value(type=tf.float32.as_datatype_enum),
        "U": _value(type=tf.float32.as_datatype_enum),
        "Tout": _value(type=tf.float32.as_datatype_enum),
        "transpose_b": _value(b=matrix.transposed),
        "is_weight_const": _value(b=matrix.constant),
        "fused_ops": _value(list=_list(s=[b"BiasAdd", b"Dequantize"])),
    }
    graph = tf.compat.v1.get_default_graph()
    inputs = [*device_inputs, *host_inputs]
    return graph.create_op("_QuantizedMatMul", inputs, [tf.float32], name="int8_product", attrs=attributes).outputs[0]


_value, _list = tf.compat.v1.AttrValue, tf.compat.v1.AttrValue.ListValue


def _types(tensors):
    return _value(list=_list(type=[tensor.dtype.as_datatype_enum for tensor in tensors]))


_IN_USE: contextvars.ContextVar[Mapping[int, Int8Matrix]] = contextvars.ContextVar("int8 matrices")


@contextlib.contextmanager
def int8_matrices(matrices: Mapping[int, Int8Matrix]) -> Iterator[None]:
    """Within the block, layers multiply with these matrices, not with their variables, whose `id`s are the keys."""
    token = _IN_USE.set(matrices)
    try:
        yield
    finally:
        _IN_USE.reset(token)


def int8_matrix(variable: keras.Variable) -> Int8Matrix | None:
    """What layers are to use in place of a variable, or None for the variable itself."""
    return _IN_USE.get({}).get(id(variable))


def weight_levels() -> int:
    """The largest int8 that weights may have here, so that products are exact: `LEVELS` or `REDUCED_LEVELS`.

    Raises:
        UserError: this machine has no exact products in int8.
    """
    for levels in (LEVELS, REDUCED_LEVELS):
        if _is_exact(levels):
            return levels
    raise UserError(
        f"precision=int8: this processor, or this build of TensorFlow, has no exact products in int8; {_OTHERWISE}"
    )


def require_int8(levels: int) -> None:
    """Raise `UserError` if this machine has no exact products in int8 with weights of so many levels."""
    if levels > (exact := weight_levels()):
        raise UserError(
            f"precision=int8: this processor has no VNNI: its products are exact with weights up to {exact}, and these"
            f" go up to {levels}; export on a machine like this one, or {_OTHERWISE}"
        )


_OTHERWISE = "choose float32 or bfloat16, for a served model when it is exported"


@functools.cache
def _is_exact(levels: int) -> bool:
    """Try it with the largest values, of which all sums overflow if any does."""
    weights = tf.fill([64, 16], tf.constant(levels, tf.int8))
    matrix = Int8Matrix(weights, tf.fill([16], float(LEVELS)), float(LEVELS))
    try:
        product: Any = matrix.multiply(tf.fill([2, 64], float(LEVELS))).numpy()
    except (tf.errors.OpError, RuntimeError, ValueError, TypeError):  # no such operation, or no kernel of it
        return False
    return bool((abs(product / (64 * LEVELS * levels) - 1) < 1e-5).all())
