"""Clients of a server under load: good ones, whose answers are checked, and rude ones; and what they count."""

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import grpc

from tfnmt_programs.asking import SERVER_ERRORS, TIMEOUT, RefusedError, ServerError
from tfnmt_programs.soak.rude import Rude

# The errors of an asker where there is no answer, or a part of one.
NO_ANSWER = (RefusedError, OSError, http.client.HTTPException, grpc.RpcError, ValueError, LookupError, TypeError)


class Tally:
    """What has happened, counted by all clients together.

    Args:
        stopping: gives the time (`time.monotonic`) at which the server was asked to stop, or None. What is sent after
            that may be refused.
    """

    def __init__(self, stopping: Callable[[], float | None]):
        self.stopping = stopping
        self.counts: Counter[str] = Counter()
        self.problems: dict[str, str] = {}
        self.longest = 0.0
        self._lock = threading.Lock()

    def count(self, what: str, problem: str = "") -> None:
        """One more of what happened; the first problem of each kind is kept, to be shown."""
        with self._lock:
            self.counts[what] += 1
            if problem:
                self.problems.setdefault(what, problem[:300])

    def answered(self, sent: float) -> None:
        """A right answer, to a request that was sent then (`time.monotonic`)."""
        with self._lock:
            self.counts["right"] += 1
            self.longest = max(self.longest, time.monotonic() - sent)

    def unanswered(self, sent: float, what: str, problem: str) -> None:
        """A failure, unless the server had been asked to stop before the request was sent."""
        stopped = self.stopping()
        self.count("refused_after_stop" if stopped is not None and sent >= stopped else what, problem)


def good_client(
    ask: Callable[[str], str], answers: Sequence[tuple[str, str]], seed: int, tally: Tally, end: threading.Event
) -> None:
    """Ask for one sentence after the other until `end` is set, and check every answer.

    Args:
        ask: a function from a sentence to the server's translation; see `rest_asker`, `grpc_asker`.
        answers: pairs of a sentence and its right translation.
        seed: of the order.
        tally: where everything is counted.
        end: set when it is to stop.
    """
    generator = random.Random(seed)
    while not end.is_set():
        sentence, right = generator.choice(answers)
        sent = time.monotonic()
        try:
            answer = ask(sentence)
        except ServerError as error:
            tally.unanswered(sent, "server_errors", str(error))
        except NO_ANSWER as error:
            tally.unanswered(sent, "lost", f"{type(error).__name__}: {error}")
            if tally.stopping() is not None:
                return
        else:
            if answer == right:
                tally.answered(sent)
            else:
                tally.count("mixed", f"{sentence!r}: {answer!r}, not {right!r}")


def rude_client(rude: Rude, tally: Tally, share: float, end: threading.Event) -> None:
    """Send what is malformed, huge or slow, so that such requests are `share` of all, until `end` is set."""
    while not end.is_set():
        if tally.counts["rude"] > share * (tally.counts["right"] + tally.counts["rude"]):
            time.sleep(0.005)
            continue
        kind, sent = rude.generator.choice(Rude.KINDS), time.monotonic()
        try:
            status = getattr(rude, kind)()
        except (OSError, http.client.HTTPException) as error:
            status = type(error).__name__
        tally.count("rude")
        if status in ("TimeoutError", "DEADLINE_EXCEEDED"):
            tally.unanswered(sent, "rude_unanswered", f"{kind}: no answer in {TIMEOUT} s")
        if str(status).startswith("5") or status in (code.name for code in SERVER_ERRORS):
            tally.unanswered(sent, "server_errors_to_rude", f"{kind}: {status}")
    rude.close()
