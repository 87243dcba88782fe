"""A line for each request that the server answers."""

import logging
import time

logger = logging.getLogger(__name__)


def log_access(client: str, request: str, status: int | str, start: float) -> None:
    """Log a request and how it was answered.

    Args:
        client: its address. A proxy's header may say anything: it is escaped, and so are its spaces.
        request: a method and a path, escaped likewise but for the spaces; "-" if none has arrived.
        status: that of the answer, or why there was none.
        start: when the request came, by `time.perf_counter`.
    """
    client = _printable(client).replace(" ", r"\x20")  # the line's first field, whatever it holds
    logger.info("%s %s %s %.1f ms", client, _printable(request), status, 1e3 * (time.perf_counter() - start))


def _printable(text):
    return text.encode("unicode_escape").decode("ascii")
