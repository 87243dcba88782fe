"""Calls of a server, repeated as long as another attempt may succeed."""

import random
import time
from collections.abc import Callable
from typing import Any, Self


class PredictError(Exception):
    """The server refuses a request, or does not answer in time.

    Args:
        status: the HTTP status, or the name of the gRPC status.
        message: the server's.
    """

    def __init__(self, status: int | str, message: str):
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class Client:
    """What a client of either protocol has: an end, a deadline and retries."""

    def __init__(self, deadline: float, retries: int):
        self._deadline = deadline
        self._retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        raise NotImplementedError

    def retry(self, attempt: Callable[[float], Any]) -> Any:
        """Call `attempt(seconds left)` until it succeeds; between `RetryableError`s with exponential backoff."""
        end, pause = time.monotonic() + self._deadline, 0.1
        for last in [False] * self._retries + [True]:
            left = end - time.monotonic()
            try:
                return attempt(left)
            except RetryableError as error:
                wait = pause * random.uniform(0.5, 1.0)
                if last or time.monotonic() + wait >= end:
                    raise error.problem from None
            time.sleep(wait)
            pause = min(2 * pause, 5.0)


class RetryableError(Exception):
    """A failed attempt after which another may succeed.

    Args:
        problem: what is raised if none does.
    """

    def __init__(self, problem: PredictError):
        super().__init__(str(problem))
        self.problem = problem
