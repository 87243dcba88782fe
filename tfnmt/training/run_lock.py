"""One run at a time writes to a model directory."""

import contextlib
import fcntl
import logging
import os
import socket
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

from tfnmt.errors import UserError
from tfnmt.files import file_errors

logger = logging.getLogger(__name__)

LOCK = "run.lock"


@contextlib.contextmanager
def lock_directory(directory: str | Path) -> Iterator[Callable[[], None]]:
    """Make a directory if need be, and keep other runs out of it until the context or the process ends.

    The operating system holds the lock for the process, so that a killed one leaves none. Reading a model needs none.
    A directory that is made here and stays empty is removed again.

    Yields:
        `check()`, which raises `UserError` where the directory, or the lock in it, has been removed or replaced.

    Raises:
        UserError: another run writes there; the directory cannot be made or written to.
    """
    directory = Path(directory)
    path, is_new = directory / LOCK, not directory.exists()
    with file_errors(directory, "name another --output"):
        directory.mkdir(parents=True, exist_ok=True)
        file = _open_locked(directory)
    with file:
        try:
            with file_errors(path, "name another --output"):
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())

            def check() -> None:
                if not _is_at(file, path):
                    raise UserError(f"{path}: was removed or replaced while the run was writing there: the run ends")

            yield check
        finally:
            with contextlib.suppress(OSError):
                if _is_at(file, path):
                    path.unlink()
                if is_new:
                    directory.rmdir()


def _open_locked(directory: Path) -> FileIO:
    """The lock's file, locked."""
    while True:
        file = open(directory / LOCK, "ab+", buffering=0)  # noqa: SIM115 (open as long as it is locked)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().decode(errors="replace") or "a process"
            file.close()
            raise UserError(
                f"{directory}: another run is writing there ({owner}); wait for its end, or name another --output"
            ) from None
        except OSError as error:
            logger.warning("%s: cannot be locked (%s): let no other run write there", directory, error.strerror)
            return file
        if _is_at(file, directory / LOCK):  # and was not removed meanwhile by the run that ended
            return file
        file.close()


def _is_at(file: FileIO, path: Path) -> bool:
    """Whether the open file is the one at `path`."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
