"""SIGTERM, SIGHUP and Ctrl-C end what the program does in good order; a second one ends it at once."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import NoReturn, Self

from tfnmt.errors import InterruptedBySignal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGAIN_SECONDS = 0.1
"""Seconds after which an exception that Python has swallowed is raised again."""


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """Within the block, these signals wait for its end; threads that are started in it never take them."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@contextlib.contextmanager
def keep_handlers() -> Iterator[None]:
    """Within the block, other code may set handlers of these signals: afterwards those of before are back, and get the
    signals that have come meanwhile. The system gives a signal to any thread that takes it: one that was started
    before must have been started within `signals_wait`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    with signals_wait():
        try:
            yield
        finally:
            for number, handler in before.items():
                if handler is not None:
                    signal.signal(number, handler)


@contextlib.contextmanager
def nothing_saved() -> Iterator[None]:
    """Within the block, what a signal ends leaves nothing behind: the message does not say how to go on."""
    try:
        yield
    except InterruptedBySignal as error:
        message = f"interrupted by {signal.Signals(error.signal).name}; nothing is saved: start it again"
        raise InterruptedBySignal(message, error.signal) from None


class StopSignals:
    """A context in which the first of these signals raises `InterruptedBySignal`, and a second one ends the process.

    Signals that are ignored, as SIGHUP under `nohup`, stay ignored. Outside the main thread nothing is changed.

    A signal may come while Python runs a finalizer or the callback of a weak reference, from which it lets no exception
    out, but prints it. Then it is not printed, and raised again soon after.

    Args:
        advice: gives what the message is to say of how to go on.
    """

    def __init__(self, advice: Callable[[], str] | None = None):
        self.advice = advice
        self.received = 0
        """The signal that has come; 0: none."""
        self.deferred = False
        """Whether a signal only sets `received`. Whoever sets this looks there soon, and calls `end`."""
        self.ended = False
        self.before = {}
        self._again: threading.Timer | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            handlers = {number: signal.getsignal(number) for number in SIGNALS}
            self.before = {n: handler for n, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}
            for number in self.before:
                signal.signal(number, self._receive)
            self._hook_before, sys.unraisablehook = sys.unraisablehook, self._lost
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if threading.current_thread() is threading.main_thread():
            sys.unraisablehook = self._hook_before
        again, self._again = self._again, None
        if again is not None:
            again.cancel()
            again.join()
        for number, handler in self.before.items():
            signal.signal(number, handler)
        if self.ended and not isinstance(error, InterruptedBySignal):
            self.end()  # what `end` raised was lost on its way: C++ turns it into an error of its own

    def _receive(self, number: int, frame: FrameType | None) -> None:
        for other in self.before:
            signal.signal(other, signal.SIG_DFL)
        self.received = number
        if not self.deferred:
            self.end()

    def _lost(self, unraisable):
        """As `sys.unraisablehook`: what has been raised where Python lets nothing out."""
        if not isinstance(unraisable.exc_value, InterruptedBySignal):
            self._hook_before(unraisable)
            return
        # Not now: here, too, it would be lost.
        signal.signal(self.received, lambda *_: self._again and self.end())
        self._again = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (threading.get_ident(), self.received))
        self._again.start()

    def end(self) -> NoReturn:
        """Raise `InterruptedBySignal`, of the signal that has come."""
        self.ended = True
        message = f"interrupted by {signal.Signals(self.received).name}"
        raise InterruptedBySignal(f"{message}; {self.advice()}" if self.advice else message, self.received)
