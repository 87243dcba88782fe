"""Ray, which runs work in several processes: the cluster that RAY_ADDRESS names, or else one for this process alone.

Ray is an extra of the package and takes a second to import: it is imported here, when a command needs it. A cluster
that is started here binds to 127.0.0.1, has no dashboard, and reports nothing to anybody.
"""

import contextlib
import logging
import os
import re
import signal
import socket
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tfnmt.errors import UserError
from tfnmt.processors import processors as usable_processors

ADDRESS = "RAY_ADDRESS"
_LOOPBACK = "127.0.0.1"
_ANSWER_WITHIN = 10  # seconds
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_TRAIN_V2_ENABLED": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
# Of a cluster that is started here.
_STARTED_HERE = {
    # Where this is 0, Ray takes 127.0.0.1 for the machine's address, on Linux too, and binds to nothing else. Without
    # it, Ray replaces 127.0.0.1 by the machine's own address even where it is asked for.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # By default the workers have a niceness of 15, and hardly run while anything else on the machine does.
    "RAY_worker_niceness": "0",
    # Ray gives up after 30 seconds, which its first process may need on a machine that is busy.
    "RAY_gcs_server_port_wait_time_s": "90",
}


def import_ray() -> ModuleType:
    """The module `ray`, with nothing started.

    Raises:
        UserError: it is not installed.
    """
    for name, value in (_ENVIRONMENT | (_STARTED_HERE if _address() == "local" else {})).items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise UserError("Ray is not installed, which this needs: `pip install '.[ray]'` in the checkout") from error
    return ray


@contextlib.contextmanager
def ray_started(processors: int | None = None, object_store_bytes: int | None = None) -> Iterator[ModuleType]:
    """Within the block, this process is connected to Ray: as it is already; or to the cluster that RAY_ADDRESS names,
    as HOST:PORT; or to one that is started on this machine, and ends with the block.

    Args:
        processors: of a cluster that is started here (default: as many as this process may use).
        object_store_bytes: the most that a cluster started here keeps in shared memory for results on their way.

    Yields:
        The module `ray`.

    Raises:
        UserError: Ray is not installed; the cluster does not answer; a `UserError` was raised in another process.
    """
    ray = import_ray()
    with contextlib.ExitStack() as stack:
        if not ray.is_initialized():
            _connect(ray, processors, object_store_bytes)
            stack.callback(ray.shutdown)
        try:
            yield ray
        except ray.exceptions.RayError as error:
            messages = _MESSAGE.findall(str(error))
            if not messages:
                raise
            raise UserError(messages[-1]) from error  # the others are causes of the last one


def _address() -> str:
    """That of a cluster, or "local" for one that is to be started here."""
    return os.environ.get(ADDRESS) or "local"


def _connect(ray: ModuleType, processors: int | None, object_store_bytes: int | None) -> None:
    """Connect to the cluster that RAY_ADDRESS names, or start one."""
    address = _address()
    options: dict[str, Any] = {"configure_logging": True, "logging_level": logging.ERROR, "log_to_driver": False}
    if address == "local":
        options |= {
            "num_cpus": processors or usable_processors(),
            "object_store_memory": object_store_bytes,
            "include_dashboard": False,
            "_node_ip_address": _LOOPBACK,
        }
    else:
        _require_answer(address)
    sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address, **options)
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"Ray cannot be reached at {address} ({reason}); {_WAY_OUT}") from error
    finally:
        _put_back(sigterm)
    _quieten_ray_data()


# In the text of Ray's errors, the traceback of what was raised in another process.
_MESSAGE = re.compile(r"\bUserError: (.+)")
_WAY_OUT = f"start it, correct {ADDRESS}, or unset {ADDRESS} to use this machine alone"


def _require_answer(address):
    """Raise `UserError` unless something listens at an address; Ray itself would wait for a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdecimal():
        raise UserError(f"{ADDRESS}={address}: allowed is HOST:PORT, such as {_LOOPBACK}:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_WITHIN).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise UserError(f"{ADDRESS}={address}: the cluster does not answer ({error}); {_WAY_OUT}") from error


def _quieten_ray_data():
    """Leave what Ray Data logs, and its bars of progress, to its log file."""
    import ray.data

    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setLevel(logging.CRITICAL + 1)
    ray.data.DataContext.get_current().enable_progress_bars = False


def _put_back(sigterm):
    """Ray replaces the handler of SIGTERM; only the main thread has one."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, sigterm)
