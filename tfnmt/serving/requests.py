"""What a request may ask for, and what it gets when it may not: the same by REST and by gRPC."""

import grpc
import numpy as np
import tensorflow as tf

MAXIMUM_BODY = 4 << 20  # bytes of one request
MAXIMUM_ROWS = 1024  # texts in one request
MAXIMUM_TEXT = 20_000  # bytes of one text; a model reads some hundred words

# How TensorFlow Serving says by HTTP what gRPC has a code for.
HTTP_STATUS = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 413,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
}


class RequestError(Exception):
    """Something is wrong with a request, or the server cannot answer it now.

    Args:
        code: a `grpc.StatusCode`, one of `HTTP_STATUS`.
        message: one line.
    """

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message):
    """What was asked for makes no sense: HTTP 400."""
    return RequestError(grpc.StatusCode.INVALID_ARGUMENT, message)


def not_found(message):
    """There is no such model, version or signature: HTTP 404."""
    return RequestError(grpc.StatusCode.NOT_FOUND, message)


def unavailable(message):
    """It cannot be answered now, but perhaps later: HTTP 503."""
    return RequestError(grpc.StatusCode.UNAVAILABLE, message)


def checked_inputs(signature, inputs):
    """Inputs as a signature takes them.

    Args:
        signature: a `SignatureDef`.
        inputs: a dictionary of arrays; strings as bytes in arrays of objects.

    Returns:
        (inputs, rows): the arrays in the signature's types, and their common first dimension.

    Raises:
        RequestError: a name, type or shape is not the signature's, they differ in their first dimension, or a text is
            too long or no text.
    """
    if set(inputs) != set(signature.inputs):
        expected, given = (", ".join(sorted(names)) or "none" for names in (signature.inputs, inputs))
        raise invalid(f"input keys do not match the signature's: expected {expected}; given {given}")
    checked = {name: _checked(name, signature.inputs[name], value) for name, value in inputs.items()}
    rows = {len(value) for value in checked.values()}
    if len(rows) != 1:
        raise invalid(f"inputs differ in their first dimension: {', '.join(map(str, sorted(rows)))}")
    (rows,) = rows
    if rows > MAXIMUM_ROWS:
        raise invalid(f"a request of {rows:,} rows: at most {MAXIMUM_ROWS:,} are taken")
    return checked, rows


def _checked(name, specification, value):
    dtype = tf.dtypes.as_dtype(specification.dtype)
    shape = tf.TensorShape(specification.tensor_shape)
    if (value.dtype == object) != (dtype == tf.string) or not np.can_cast(
        value.dtype, dtype.as_numpy_dtype, "same_kind"
    ):
        kind = "string" if value.dtype == object else value.dtype.name
        raise invalid(f"input {name!r} is {kind}: expected {dtype.name}")
    if value.ndim == 0 or not shape.is_compatible_with(value.shape):
        raise invalid(f"input {name!r} has shape {list(value.shape)}: expected {shape.as_list()}")
    if dtype == tf.string:
        for place, text in np.ndenumerate(value):
            _check_text(f"input {name!r}, row {place[0]}", text)
        return value
    return value.astype(dtype.as_numpy_dtype)


def _check_text(where, text):
    if len(text) > MAXIMUM_TEXT:
        raise invalid(f"{where}: a text of {len(text):,} bytes: at most {MAXIMUM_TEXT:,} are taken")
    if b"\x00" in text:
        raise invalid(f"{where}: has a NUL character")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid(f"{where}: byte {error.start + 1} is not UTF-8") from None
