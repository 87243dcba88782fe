"""Several workers on this machine, disturbed as if they were one process: one of them is, and all must end."""

import contextlib
import json
import random
import socket
import subprocess
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from tfnmt.errors import UserError


class WorkerGroup:
    """Processes that are started together with a TF_CONFIG of each, with the interface of one `subprocess.Popen`.

    Args:
        command: what each runs.
        environment: of each, without TF_CONFIG.
        workers: how many.
        generator: draws which one is disturbed.
        processors: one for each worker, which then uses no other; None: all use all.
        stdout: where their output goes, as for `subprocess.Popen`.
    """

    STATUSES = (0, 2, 143)
    """With which those may end that are not disturbed themselves."""

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        workers: int,
        generator: random.Random,
        processors: Sequence[int] | None = None,
        stdout: int = subprocess.DEVNULL,
    ):
        self.command, self.disturbed = command, generator.randrange(workers)
        addresses = [f"127.0.0.1:{port}" for port in free_ports(workers)]
        self.processes = []
        for index in range(workers):
            cluster = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            pinned = ["taskset", "-c", str(processors[index])] if processors else []
            self.processes.append(
                subprocess.Popen(
                    [*pinned, *command],
                    env=environment | {"TF_CONFIG": json.dumps(cluster)},
                    stdout=stdout,
                    stderr=subprocess.DEVNULL,
                )
            )

    @property
    def pid(self) -> int:
        """That of the chief."""
        return self.processes[0].pid

    def kill(self) -> None:
        """Kill one."""
        self.processes[self.disturbed].kill()

    def terminate(self) -> None:
        """Send SIGTERM to one."""
        self.processes[self.disturbed].terminate()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of all.

        Returns:
            The status of the one that is disturbed, or of the first that ended otherwise than with 0.

        Raises:
            subprocess.TimeoutExpired: one has not ended.
            UserError: another one ended with a status that none may end with.
        """
        end = None if timeout is None else time.monotonic() + timeout
        for process in self.processes:
            process.wait(None if end is None else max(0.0, end - time.monotonic()))
        statuses = [process.returncode for process in self.processes]
        disturbed = statuses.pop(self.disturbed)
        if not set(statuses) <= set(self.STATUSES):
            raise UserError(f"{' '.join(self.command)}: the workers ended with status {disturbed}, and {statuses}")
        return disturbed or max(statuses, default=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for process in self.processes:
            if error is not None:
                process.kill()
            process.wait()


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens at now, on this machine."""
    with contextlib.ExitStack() as servers:
        found = [servers.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [server.getsockname()[1] for server in found]
