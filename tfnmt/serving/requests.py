"""What a predict request may contain, and the errors of one that is refused: the same by REST and by gRPC."""

import grpc
import numpy as np
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

MAXIMUM_BODY = 4 << 20  # bytes of one request
MAXIMUM_ROWS = 1024  # texts in one request
MAXIMUM_TEXT = 20_000  # bytes of one text; a model reads some hundred words

# The HTTP status that TensorFlow Serving gives where gRPC has a code.
HTTP_STATUS = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 413,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
}


class RequestError(Exception):
    """A request that is wrong, or that the server cannot answer now.

    Args:
        code: a `grpc.StatusCode`, one of `HTTP_STATUS`.
        message: one line.
    """

    def __init__(self, code: grpc.StatusCode, message: str):
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> RequestError:
    """The request itself is wrong: HTTP 400."""
    return RequestError(grpc.StatusCode.INVALID_ARGUMENT, message)


def not_found(message: str) -> RequestError:
    """There is no such model or version: HTTP 404."""
    return RequestError(grpc.StatusCode.NOT_FOUND, message)


def unavailable(message: str) -> RequestError:
    """The server cannot answer now, but perhaps later: HTTP 503."""
    return RequestError(grpc.StatusCode.UNAVAILABLE, message)


def check_inputs(signature: SignatureDef, inputs: dict[str, np.ndarray]) -> int:
    """Check the inputs of a request; every input of a signature is string [rows].

    Args:
        signature: what they are for.
        inputs: by name; strings are bytes in arrays of objects.

    Returns:
        The number of rows.

    Raises:
        RequestError: the names are not the signature's, an array is not string [rows], the arrays differ in their
            number of rows, or a text is too long or not UTF-8.
    """
    if set(inputs) != set(signature.inputs):
        expected, given = (", ".join(sorted(names)) or "none" for names in (signature.inputs, inputs))
        raise invalid(f"input keys do not match the signature's: expected {expected}; given {given}")
    for name, texts in inputs.items():
        if texts.dtype != object or texts.ndim != 1:
            raise invalid(f"input {name!r}: expected a list of strings")
        for row, text in enumerate(texts):
            _check_text(f"input {name!r}, row {row}", text)
    lengths = {len(texts) for texts in inputs.values()}
    if len(lengths) != 1:
        raise invalid(f"inputs differ in their first dimension: {', '.join(map(str, sorted(lengths)))}")
    (rows,) = lengths
    if rows > MAXIMUM_ROWS:
        raise invalid(f"a request of {rows:,} rows: at most {MAXIMUM_ROWS:,} are allowed")
    return rows


def _check_text(place, text):
    if len(text) > MAXIMUM_TEXT:
        raise invalid(f"{place}: a text of {len(text):,} bytes: at most {MAXIMUM_TEXT:,} are allowed")
    if b"\x00" in text:
        raise invalid(f"{place}: has a NUL character")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid(f"{place}: byte {error.start + 1} is not UTF-8") from None
