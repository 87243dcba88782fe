"""The body of an HTTP request, as it is or compressed by gzip."""

import zlib

import grpc
from starlette.requests import ClientDisconnect, Request

from tfnmt.serving.limits import MAXIMUM_BODY
from tfnmt.serving.requests import RequestError, invalid

_GZIP = 16 + zlib.MAX_WBITS  # for zlib: with gzip's header and checksum


async def read_body(request: Request) -> bytes:
    """The whole body, decompressed.

    Raises:
        RequestError: it is too large, compressed or not; it is not what its header says; or the client has gone.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise invalid(f"Content-Encoding {encoding}: send the body as it is, or compressed by gzip")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            _check_size(len(body))
    except ClientDisconnect:
        raise invalid("the client disconnected before its request was complete") from None
    return bytes(body) if encoding == "identity" else _decompress(body)


def _decompress(body):
    decompressor = zlib.decompressobj(_GZIP)
    try:
        whole = decompressor.decompress(body, MAXIMUM_BODY + 1)
    except zlib.error as error:
        raise invalid(f"the body is not compressed by gzip ({error})") from None
    _check_size(len(whole))
    if not decompressor.eof or decompressor.unused_data:
        raise invalid("the body, compressed by gzip, is not complete, or more follows it")
    return whole


def _check_size(size):
    if size > MAXIMUM_BODY:
        message = f"a request of more than {MAXIMUM_BODY:,} bytes is refused"
        raise RequestError(grpc.StatusCode.RESOURCE_EXHAUSTED, message)
