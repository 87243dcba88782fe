"""Who may change what is served, and read the metrics."""

import hmac

import grpc

from tfnmt.serving.requests import RequestError
from tfnmt.training.loopback import is_loopback


class Admin:
    """With a token, whoever knows it; without one, whoever reaches a server that only this machine can reach.

    Args:
        host: what the server listens on.
        token: None for none.
    """

    def __init__(self, host: str, token: str | None):
        self._token = token
        self._open = token is None and is_loopback(host)

    def check(self, authorization: str | None) -> None:
        """Refuse who may not.

        Args:
            authorization: the header of that name, "Bearer TOKEN".

        Raises:
            RequestError: the token is missing or wrong, or the server has none.
        """
        if self._open:
            return
        if self._token is None:
            message = "not over the network: start the server with --admin-token-file, and send that token"
            raise RequestError(grpc.StatusCode.PERMISSION_DENIED, message)
        scheme, _, given = (authorization or "").partition(" ")
        is_right = hmac.compare_digest(given.strip(" ").encode("utf-8", "replace"), self._token.encode())
        if scheme.lower() != "bearer" or not is_right:  # of a scheme, case does not count (RFC 9110, 11.1)
            message = "the header `authorization: Bearer TOKEN` with the administrator's token is needed"
            raise RequestError(grpc.StatusCode.UNAUTHENTICATED, message)
