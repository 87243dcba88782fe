"""Calls of a server, repeated as long as another attempt may succeed."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
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
