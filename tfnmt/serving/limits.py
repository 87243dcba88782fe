"""What a client may take of the server."""

from collections.abc import Mapping
from dataclasses import dataclass

MAXIMUM_BODY = 1 << 20  # bytes of one request


@dataclass(frozen=True)
class RequestLimits:
    """What one request to a signature may hold at most. Tokens are what the model reads: words or subwords."""

    rows: int = 64
    """Texts, or pairs of texts."""
    text_tokens: int = 500
    """Tokens of one text."""
    request_tokens: int = 4000
    """Tokens of all texts together."""


@dataclass(frozen=True)
class Limits:
    """What a client may take. A time is a whole, however the client spreads its bytes over it."""

    connections: int = 1000
    """HTTP connections at the same time; further ones are answered with 503. By HTTPS as many more may still be at
    their TLS handshake; further ones are closed."""
    calls: int = 500
    """gRPC calls at the same time; further ones are answered with RESOURCE_EXHAUSTED."""
    watches: int = 50
    """Of these calls, those that watch the state of a model, which last as long as their client likes; further ones
    are answered with RESOURCE_EXHAUSTED."""
    head_seconds: float = 10.0
    """From the first byte of a request until its head is complete; from a new connection until the first byte;
    for a TLS handshake."""
    body_seconds: float = 30.0
    """From the head of a request until it is complete."""
    idle_seconds: float = 75.0
    """Between an answer and the next request of a connection. A reverse proxy should close its connections earlier."""
    unread_seconds: float = 30.0
    """In which a client reads nothing of its answer."""
    grace_seconds: float = 30.0
    """When the server stops: to compute the answers to requests that have arrived."""
    last_seconds: float = 1.0
    """When the server stops: for a request that is still arriving, and then for answers that are still being read."""
    request_rows: int = RequestLimits.rows
    """See `RequestLimits`."""
    text_tokens: int | None = None
    """Likewise, for every signature; None for as many as its model allows."""
    request_tokens: int | None = None
    """Likewise."""

    def of_request(self, of_model: Mapping[str, int]) -> RequestLimits:
        """The limits of requests to a signature, for which a model says {limit: value}, or nothing."""
        default = RequestLimits()
        return RequestLimits(
            self.request_rows,
            self.text_tokens or of_model.get("text_tokens", default.text_tokens),
            self.request_tokens or of_model.get("request_tokens", default.request_tokens),
        )
