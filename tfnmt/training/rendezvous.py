"""Workers wait for one another before TensorFlow connects them: its own wait cannot be interrupted.

The chief listens at its address until every worker has connected and named its index; then it tells all to go on. These
connections stay open until TensorFlow has made its own: so a worker that ends in between is noticed.
"""

import contextlib
import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator

from tfnmt.background import repeatedly
from tfnmt.errors import UserError
from tfnmt.signals import signals_wait

GO = b"go"
DONE = b"d"
TELLS_EVERY = 10
"""Seconds between the lines that say for whom a worker waits."""

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def meeting(addresses: list[str], index: int, seconds: float) -> Iterator[None]:
    """A context that all workers enter, and leave, together. If one ends within, the others end with status 2.

    Args:
        addresses: "host:port" of each worker, the chief's first.
        index: which of them this process is.
        seconds: how long to wait for the others to come.

    Raises:
        UserError: a worker has not come by then; the chief cannot listen at its address.
    """
    end = time.monotonic() + seconds
    with contextlib.ExitStack() as connections:
        if index:
            others = [connections.enter_context(_report(addresses[0], index, end))]
        else:
            others = _wait_for_all(connections, addresses, end)
        leaving = threading.Event()
        watching = [threading.Thread(target=_watch, args=(other, leaving), daemon=True) for other in others]
        with signals_wait():  # which are the main thread's
            for thread in watching:
                thread.start()
        try:
            yield
            for other in others:
                with contextlib.suppress(OSError):
                    other.sendall(DONE)
            for thread in watching:
                thread.join()
        finally:
            leaving.set()


def _watch(other, leaving):
    """Wait until another worker is done; end this process if it goes before."""
    with contextlib.suppress(OSError):
        if other.recv(len(DONE)) == DONE:
            return
    if not leaving.is_set():  # TensorFlow's wait for it could not be interrupted
        os.write(2, b"error: another worker has ended while the workers connected; start all of them again\n")
        os._exit(2)


def _wait_for_all(connections, addresses, end):
    """The connections of the workers other than the chief."""
    waiting = {}  # by index
    host, port = _split(addresses[0])
    family = socket.AF_INET6 if ":" in host else socket.AF_INET

    def missing():
        return ", ".join(f"worker {i} at {addresses[i]}" for i in range(1, len(addresses)) if i not in waiting)

    with contextlib.ExitStack() as listening:
        try:
            listener = listening.enter_context(socket.create_server((host, port), family=family))
        except OSError as error:
            raise UserError(f"{addresses[0]}: cannot listen there, as worker 0: {error.strerror or error}") from error
        listening.enter_context(_telling(missing))
        while missing():
            try:
                listener.settimeout(max(0.01, end - time.monotonic()))
                worker = connections.enter_context(listener.accept()[0])
                worker.settimeout(10)
                (index,) = struct.unpack("!I", worker.recv(4, socket.MSG_WAITALL))
            except TimeoutError:
                if time.monotonic() < end:
                    continue
                raise UserError(f"{missing()} does not answer: start it, with this worker 0 in TF_CONFIG") from None
            except (OSError, struct.error):
                continue  # something else has knocked
            if index in range(1, len(addresses)):
                waiting[index] = worker  # in the place of one that has ended and was started again
    for worker in waiting.values():
        worker.settimeout(None)
        with contextlib.suppress(OSError):
            worker.sendall(GO)
    return list(waiting.values())


def _report(address, index, end):
    """The connection to the chief."""
    connected = False
    with _telling(lambda: "the other workers" if connected else f"worker 0 at {address}"):
        while time.monotonic() < end:
            with contextlib.ExitStack() as until_go, contextlib.suppress(OSError):
                chief = until_go.enter_context(socket.create_connection(_split(address), timeout=5))
                connected = True
                chief.sendall(struct.pack("!I", index))
                chief.settimeout(max(0.01, end - time.monotonic()))
                if chief.recv(len(GO), socket.MSG_WAITALL) == GO:
                    chief.settimeout(None)
                    until_go.pop_all()
                    return chief
            connected = False
            time.sleep(0.1)  # the chief has not started yet
    raise UserError(f"worker 0 at {address} does not answer: start it, or correct TF_CONFIG")


def _split(address):
    """Host and port, for the functions of `socket`."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)  # brackets: of an IPv6 address


def _telling(missing):
    """Within the block, a line every few seconds says which workers are missing, as the function given names them."""
    return repeatedly(lambda: logger.info("waiting for %s", missing()), TELLS_EVERY)
