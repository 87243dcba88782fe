"""Workers wait for one another before TensorFlow connects them: its own wait cannot be interrupted.

The chief listens at its address until every worker has connected and named its index; then it tells all to go on.
"""

import contextlib
import socket
import struct
import time

from tfnmt.errors import UserError

GO = b"go"


def meet(addresses: list[str], index: int, seconds: float) -> None:
    """Return when all workers have called this.

    Args:
        addresses: "host:port" of each worker, the chief's first.
        index: which of them this process is.
        seconds: how long to wait.

    Raises:
        UserError: a worker has not come by then; the chief cannot listen at its address.
    """
    end = time.monotonic() + seconds
    host, _, port = addresses[0].rpartition(":")
    if index:
        _report(host, int(port), index, end)
    elif len(addresses) > 1:
        _wait_for_all(host, int(port), addresses, end)


def _wait_for_all(host, port, addresses, end):
    missing = set(range(1, len(addresses)))
    with contextlib.ExitStack() as connections:
        try:
            listener = connections.enter_context(socket.create_server((host, port)))
        except OSError as error:
            raise UserError(f"{addresses[0]}: cannot listen there, as worker 0: {error.strerror or error}") from error
        waiting = []
        while missing:
            try:
                listener.settimeout(max(0.01, end - time.monotonic()))
                worker = connections.enter_context(listener.accept()[0])
                worker.settimeout(10)
                (index,) = struct.unpack("!I", worker.recv(4, socket.MSG_WAITALL))
            except TimeoutError:
                if time.monotonic() < end:
                    continue
                names = ", ".join(f"{index} at {addresses[index]}" for index in sorted(missing))
                raise UserError(f"worker {names} does not answer: start it, with this worker 0 in TF_CONFIG") from None
            except (OSError, struct.error):
                continue  # something else has knocked
            missing.discard(index)
            waiting.append(worker)
        for worker in waiting:
            with contextlib.suppress(OSError):
                worker.sendall(GO)
                worker.recv(1)  # it hangs up first


def _report(host, port, index, end):
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=5) as chief:
            chief.sendall(struct.pack("!I", index))
            chief.settimeout(max(0.01, end - time.monotonic()))
            if chief.recv(len(GO), socket.MSG_WAITALL) == GO:
                return
        time.sleep(0.1)  # the chief has not started yet
    raise UserError(f"worker 0 at {host}:{port} does not answer: start it, or correct TF_CONFIG")
