"""What a predict request may contain, and the errors of one that is refused: the same by REST and by gRPC."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

import grpc
import numpy as np
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

from tfnmt.serving.limits import RequestLimits

MAXIMUM_TEXT = 20_000  # bytes of one text; a model reads some hundred tokens
_LONGEST_MESSAGE = 500  # characters

# The HTTP status that TensorFlow Serving gives where gRPC has a code; but for RESOURCE_EXHAUSTED, which is 429 there:
# here only a body that is too large has that code by HTTP, and 413 says so.
HTTP_STATUS = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 413,
    grpc.StatusCode.UNKNOWN: 500,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
}


@dataclass(frozen=True)
class Signature:
    """A signature of a loaded model."""

    name: str
    definition: SignatureDef
    limits: RequestLimits


class RequestError(Exception):
    """A request that is wrong, or that the server cannot answer now.

    Args:
        code: a `grpc.StatusCode`, one of `HTTP_STATUS`.
        message: what is wrong. It becomes one line that any protocol can carry: what it quotes from a request may have
            line breaks, characters that are none, or a million of them.
        retry_seconds: after which the client is to ask again; None if nothing is known of that.
    """

    def __init__(self, code: grpc.StatusCode, message: str, retry_seconds: int | None = None):
        line = " ".join(message.encode("utf-8", "replace").decode("utf-8").split())
        line = line if len(line) <= _LONGEST_MESSAGE else line[:_LONGEST_MESSAGE] + "…"
        super().__init__(line)
        self.code = code
        self.message = line
        self.retry_seconds = retry_seconds


def invalid(message: str) -> RequestError:
    """The request itself is wrong: HTTP 400."""
    return RequestError(grpc.StatusCode.INVALID_ARGUMENT, message)


def failed_precondition(message: str) -> RequestError:
    """The server is not in the state that the request needs: HTTP 400."""
    return RequestError(grpc.StatusCode.FAILED_PRECONDITION, message)


def failed(message: str) -> RequestError:
    """What was to be done was tried in vain; TensorFlow Serving's code for that: HTTP 500."""
    return RequestError(grpc.StatusCode.UNKNOWN, message)


def not_found(message: str) -> RequestError:
    """There is no such model or version: HTTP 404."""
    return RequestError(grpc.StatusCode.NOT_FOUND, message)


def unavailable(message: str, retry_seconds: int | None = None) -> RequestError:
    """The server cannot answer now, but perhaps later: HTTP 503."""
    return RequestError(grpc.StatusCode.UNAVAILABLE, message, retry_seconds)


def check_names(signature: Signature, names: Collection[str]) -> None:
    """Check the names of a request's inputs, before anything is done with their values.

    Raises:
        RequestError: they are not the signature's.
    """
    inputs = signature.definition.inputs
    if len(names) != len(inputs) or set(names) != set(inputs):
        expected, given = (", ".join(sorted(islice(each, 20))) or "none" for each in (inputs, names))
        raise invalid(f"input keys do not match the signature's: expected {expected}; given {given}")


def check_rows(rows: int, limits: RequestLimits) -> None:
    """Check the number of rows, before an array of so many is made.

    Raises:
        RequestError: they are too many.
    """
    if rows > limits.rows:
        raise invalid(f"a request of {rows:,} rows: at most {limits.rows:,} are allowed")


def check_tokens(tokens: dict[str, np.ndarray], limits: RequestLimits) -> None:
    """Check the number of tokens of every text: int [rows] by input.

    Raises:
        RequestError: they are too many.
    """
    for name, counts in tokens.items():
        for row, count in enumerate(counts):
            if count > limits.text_tokens:
                place = f"input {name!r}, row {row}"
                raise invalid(f"{place}: a text of {count:,} tokens: at most {limits.text_tokens:,} are allowed")
    total = sum(int(counts.sum()) for counts in tokens.values())
    if total > limits.request_tokens:
        raise invalid(f"a request of {total:,} tokens: at most {limits.request_tokens:,} are allowed")


def check_texts(inputs: dict[str, np.ndarray]) -> None:
    """Check the texts of a request.

    Args:
        inputs: by name, arrays of bytes [rows], their names and their rows checked.

    Raises:
        RequestError: the arrays differ in their number of rows, or a text is too long, not UTF-8 or has a NUL.
    """
    lengths = {len(texts) for texts in inputs.values()}
    if len(lengths) != 1:
        raise invalid(f"inputs differ in their first dimension: {', '.join(map(str, sorted(lengths)))}")
    for name, texts in inputs.items():
        for row, text in enumerate(texts):
            _check_text(f"input {name!r}, row {row}", text)


def _check_text(place, text):
    if len(text) > MAXIMUM_TEXT:
        raise invalid(f"{place}: a text of {len(text):,} bytes: at most {MAXIMUM_TEXT:,} are allowed")
    if b"\x00" in text:
        raise invalid(f"{place}: has a NUL character")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid(f"{place}: byte {error.start + 1} is not UTF-8") from None
