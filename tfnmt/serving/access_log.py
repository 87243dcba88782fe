"""A line for each request that the server answers."""

import logging
import time

logger = logging.getLogger(__name__)


def log_access(client: str, request: str, status: int | str, start: float) -> None:
    """Log a request and how it was answered.

    Args:
        client: its address.
        request: a method and a path; what must not be printed is escaped.
        status: that of the answer.
        start: when the request came, by `time.perf_counter`.
    """
    text = request.encode("unicode_escape").decode("ascii")
    logger.info("%s %s %s %.1f ms", client, text, status, 1e3 * (time.perf_counter() - start))
