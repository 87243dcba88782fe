"""A client of this project's server or of TensorFlow Serving itself, by REST or by gRPC as its URL says."""

import contextlib
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from tfnmt.errors import UserError
from tfnmt.serving.grpc_client import GrpcClient
from tfnmt.serving.rest_client import RestClient
from tfnmt.serving.retries import PredictError

__all__ = ["GrpcClient", "PredictError", "RestClient", "connect"]


def connect(
    url: str, deadline: float = 60.0, retries: int = 5, authorities: str | Path | None = None
) -> RestClient | GrpcClient:
    """A client for `http://HOST:PORT` (REST) or `grpc://HOST:PORT`; with TLS for `https://…` or `grpcs://…`.

    Args:
        url: of the server.
        deadline: seconds that a call may take, all its retries included. (By REST a server that sends its answer bit by
            bit may take longer: each bit has so long.)
        retries: how often a call is repeated, with exponential backoff, when the server cannot be reached or is
            unavailable. Where it says when to ask again, as while it loads the model, that is repeated until the
            deadline. Both are safe: a prediction changes nothing.
        authorities: a PEM file of the certificates that the server's must be signed with, or be one of, where TLS is
            used (default: the well-known authorities).

    Raises:
        UserError: the URL is none of these, the file cannot be read, or is given without TLS.
    """
    if authorities and not Path(authorities).is_file():
        raise UserError(f"{authorities}: there is no such file of certificates")
    with contextlib.suppress(ValueError):  # brackets that do not match; the port is not a number
        parts = urlsplit(url)
        if authorities and parts.scheme in ("http", "grpc"):
            raise UserError(f"{url}: is not encrypted, so {authorities} says nothing; use {parts.scheme}s://HOST:PORT")
        if authorities:
            _check_certificates(authorities)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return RestClient(url.rstrip("/"), deadline, retries, authorities)
        is_address = parts.hostname and parts.port and not (parts.path.strip("/") or parts.query or parts.fragment)
        if parts.scheme in ("grpc", "grpcs") and is_address:
            return GrpcClient(parts.netloc, deadline, retries, parts.scheme == "grpcs", authorities)
    raise UserError(f"{url}: use http://HOST:PORT or grpc://HOST:PORT, or https and grpcs for TLS")


def _check_certificates(path):
    """Raise `UserError` if a file has no certificates: else each connection would fail, without this reason."""
    try:
        ssl.create_default_context(cafile=path)
    except ssl.SSLError as error:
        raise UserError(f"{path}: is not a PEM file of certificates ({error.reason})") from error
