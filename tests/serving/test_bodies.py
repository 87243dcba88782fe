"""Bodies of requests, as they are and compressed."""

import asyncio
import gzip

import pytest
from starlette.requests import Request

from tfnmt.serving.bodies import read_body
from tfnmt.serving.limits import MAXIMUM_BODY
from tfnmt.serving.requests import RequestError


def read(body, encoding=None, size=1 << 16):
    """What `read_body` makes of a body that arrives in pieces of this size."""
    pieces = [body[start : start + size] for start in range(0, max(len(body), 1), size)]

    async def receive():
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    headers = [(b"content-encoding", encoding.encode())] if encoding else []
    return asyncio.run(read_body(Request({"type": "http", "headers": headers}, receive)))


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_bodies(size):
    text = '{"inputs": ["Grüße"]}'.encode()
    assert read(text, size=size) == read(text, "identity", size) == text
    assert read(gzip.compress(text), "gzip", size) == read(gzip.compress(text), "X-GZIP", size) == text
    assert read(b"", size=size) == read(gzip.compress(b""), "gzip", size) == b""
    assert len(read(gzip.compress(bytes(MAXIMUM_BODY)), "gzip")) == MAXIMUM_BODY


def test_a_body_that_grows_when_it_is_decompressed_is_limited():
    bomb = gzip.compress(bytes(20 << 20))
    assert len(bomb) < MAXIMUM_BODY
    for body, encoding in ((bomb, "gzip"), (bytes(MAXIMUM_BODY + 1), None), (bytes(MAXIMUM_BODY + 1), "gzip")):
        with pytest.raises(RequestError, match="a request of more than 1,048,576 bytes is refused") as caught:
            read(body, encoding)
        assert caught.value.code.name == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    "body, encoding, message",
    [
        (b"{}", "gzip", "the body is not compressed by gzip"),
        (gzip.compress(b"{}", mtime=0)[:-1], "gzip", "is not complete"),
        (gzip.compress(b"{}", mtime=0) + b"{}", "gzip", "more follows it"),
        (b"", "gzip", "is not complete"),
        (b"{}", "br", "Content-Encoding br: send the body as it is, or compressed by gzip"),
    ],
)
def test_bodies_that_are_not_what_their_header_says(body, encoding, message):
    with pytest.raises(RequestError, match=message) as caught:
        read(body, encoding)
    assert caught.value.code.name == "INVALID_ARGUMENT"
