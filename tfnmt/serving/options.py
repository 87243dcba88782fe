"""What a server is started with."""

from dataclasses import dataclass, field
from pathlib import Path

from tfnmt.errors import UserError
from tfnmt.processors import processors
from tfnmt.serving.files import batching_values
from tfnmt.serving.limits import Limits
from tfnmt.serving.tls import Certificate


@dataclass(frozen=True)
class Address:
    """Where the server listens. Port 0 is any free port."""

    host: str = "127.0.0.1"
    rest_port: int = 8501
    grpc_port: int = 8500


@dataclass(frozen=True)
class BatchingOptions:
    """How many rows a batch has, and how long it waits for them. The parameters of TensorFlow Serving's batching."""

    max_batch_size: int = 32
    """Rows of one batch at most; a larger request is split."""
    max_batch_tokens: int = 2048
    """Rows of one batch times the tokens of its longest text, at most: what is computed, padding included. A text that
    has more alone is a batch of its own."""
    wait_seconds: float = 0.005
    """How long the first request of a batch waits for others to arrive."""
    threads: int = field(default_factory=processors)
    """Batches computed at the same time; by default as many as there are processors, as in TensorFlow Serving."""
    max_enqueued_batches: int = 64
    """Full batches that may wait in the queue; further requests are refused."""


@dataclass(frozen=True)
class ServerOptions:
    """All of them."""

    address: Address = Address()
    batching: BatchingOptions = BatchingOptions()
    limits: Limits = Limits()
    certificate: Certificate | None = None
    """For HTTPS and gRPC over TLS; without it neither is encrypted."""
    admin_token: str | None = None
    """See `Admin`."""
    access_log: bool = False
    """Whether each request is logged."""
    poll_seconds: float = 1.0
    """The time between two looks for changes in the folder of servables."""


def batching_options(
    directory: str | Path,
    max_batch_size: int | None = None,
    batch_wait_ms: float | None = None,
    max_batch_tokens: int | None = None,
) -> BatchingOptions:
    """The options in batching.config of a folder of servables; the arguments override it."""
    values = batching_values(directory)
    default = BatchingOptions()
    wait = values.get("batch_timeout_micros", default.wait_seconds * 1e6) / 1e6
    return BatchingOptions(
        max_batch_tokens=max_batch_tokens or default.max_batch_tokens,
        max_batch_size=max_batch_size or values.get("max_batch_size", default.max_batch_size),
        wait_seconds=wait if batch_wait_ms is None else batch_wait_ms / 1e3,
        threads=values.get("num_batch_threads", default.threads),
        max_enqueued_batches=values.get("max_enqueued_batches", default.max_enqueued_batches),
    )


def read_token(path: str | Path) -> str:
    """The token in a file: its text without white space around it.

    Raises:
        UserError: the file cannot be read, or has no token that a header can carry.
    """
    path = Path(path)
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as a token ({error})") from error
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(f"{path}: a token is at least 16 ASCII characters without a space; try openssl rand -hex 16")
    return token
