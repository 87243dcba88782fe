"""Ways in which a process that trains is disturbed, and how it must end."""

import contextlib
import random
import resource
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from tfnmt.errors import UserError
from tfnmt_programs.soak.workers import WorkerGroup

ENDS_WITHIN = 60
"""Seconds in which a disturbed process must end."""
UNTIL_FULL = 10
"""So many times that where the disk is full, which a process notices when it writes."""


@dataclass(frozen=True)
class Disturbance:
    """What is done to a process, and the statuses with which it may then end."""

    disturb: Callable[[subprocess.Popen | WorkerGroup, random.Random], None]
    statuses: tuple[int, ...]


def _kill(process, _):
    process.kill()


def _terminate(process, _):
    process.terminate()


def _fill_disk(process, generator):
    """From now on no file of the process can grow beyond a random size, as if the disk were full by then."""
    size = generator.choice((0, 1_000, 100_000, 1_000_000))
    if isinstance(process, WorkerGroup):
        process.disturbed = 0  # the chief, which writes
    _, maximum = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, maximum))


# A process that Python has only begun to start has no handler of signals yet; a shell calls both statuses 143.
DISTURBANCES = {
    "kill": Disturbance(_kill, (-signal.SIGKILL,)),
    "terminate": Disturbance(_terminate, (128 + signal.SIGTERM, -signal.SIGTERM)),
    "full_disk": Disturbance(_fill_disk, (2,)),
}


def disturb(
    process: subprocess.Popen | WorkerGroup, kind: str, generator: random.Random, ends_within: float = ENDS_WITHIN
) -> bool:
    """Disturb a process and wait for its end.

    Args:
        process: the process; its standard error goes to a file or nowhere.
        kind: a name in `DISTURBANCES`.
        generator: draws what is left open.
        ends_within: seconds in which it must end; `UNTIL_FULL` times as many where the disk is full.

    Returns:
        Whether it was the disturbance that ended the process: not if it had come to its end by itself, with status 0.

    Raises:
        UserError: it ends with another status, or does not end.
    """
    disturbance, seconds = DISTURBANCES[kind], ends_within * (UNTIL_FULL if kind == "full_disk" else 1)
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        disturbance.disturb(process, generator)
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        for each in process.processes if isinstance(process, WorkerGroup) else [process]:
            each.kill()
            each.wait()
        raise UserError(f"{kind}: the process had not ended after {seconds:g} seconds") from None
    if status not in (0, *disturbance.statuses):
        raise UserError(f"{kind}: the process ended with status {status}, not {disturbance.statuses[0]}")
    return status != 0
