"""Calls of a server, repeated as long as another attempt may succeed."""

import itertools
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

RETRY_SECONDS = 1
"""After which a server that loads a model wants to be asked again: REST's header Retry-After."""
PUSHBACK = "grpc-retry-pushback-ms"
"""The same in gRPC's metadata, in milliseconds: the name that gRPC's own retries know."""


class PredictError(Exception):
    """The server refuses a request, or does not answer in time.

    Args:
        status: the HTTP status, or the name of the gRPC status.
        message: the server's, and why it was not asked again.
    """

    def __init__(self, status: int | str, message: str):
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message

    def given_up(self, reason: str) -> "PredictError":
        """The same, and why it was not tried again."""
        return PredictError(self.status, f"{self.message}; given up {reason}")


class Client:
    """What a client of either protocol has: predictions, an end, a deadline and retries."""

    def __init__(self, deadline: float, retries: int):
        self._deadline = deadline
        self._retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def predict(
        self,
        model: str,
        inputs: Mapping[str, Sequence[str]],
        signature: str = "serving_default",
        version: int | None = None,
    ) -> dict[str, list]:
        """Outputs of a signature.

        Args:
            model: the model's name.
            inputs: texts by input, as many for each.
            signature: the signature's name.
            version: a version's number; by default the newest.

        Returns:
            {output: nested list of strings or numbers}, the first dimension as long as the inputs.

        Raises:
            PredictError: the server refuses, or does not answer before the deadline.
        """
        return self._predict(model, inputs, signature, version)

    def _predict(self, model, inputs, signature, version):
        raise NotImplementedError

    def close(self) -> None:
        """End the connections."""
        raise NotImplementedError

    def retry(self, attempt: Callable[[float], Any]) -> Any:
        """Call `attempt(seconds left)` until it succeeds.

        A `RetryableError` that says when to ask again comes from a server that will answer, as when it loads a model:
        only the deadline ends that. After others it is called `retries` times more, with exponential backoff.
        """
        end, failures = time.monotonic() + self._deadline, 0
        for number in itertools.count(1):
            try:
                return attempt(end - time.monotonic())
            except RetryableError as error:
                if error.seconds is None:
                    wait = min(0.1 * 2**failures, 5.0) * random.uniform(0.5, 1.0)
                    failures += 1
                else:
                    wait = max(0.1, error.seconds) * random.uniform(1.0, 1.5)  # not all clients at once
                if failures > self._retries:
                    raise error.problem.given_up(f"after {number} attempts") from None
                if time.monotonic() + wait >= end:
                    raise error.problem.given_up(f"at the time limit of {self._deadline:g} s") from None
            time.sleep(wait)


class RetryableError(Exception):
    """A failed attempt after which another may succeed.

    Args:
        problem: what is raised if none does.
        seconds: after which the server wants to be asked again; None if it has not said that.
    """

    def __init__(self, problem: PredictError, seconds: float | None = None):
        super().__init__(str(problem))
        self.problem = problem
        self.seconds = seconds
