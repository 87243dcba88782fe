"""The files of a run stay as they are: it reads them again in each epoch."""

from pathlib import Path

from tfnmt.errors import UserError
from tfnmt.files import file_digest
from tfnmt.training.run_record import RunRecord


class WatchedFiles:
    """Notices that a file of a run has been changed while the run is training.

    Args:
        record: the run's files.
        directory: the run's model directory.
    """

    def __init__(self, record: RunRecord, directory: Path):
        self._digests = {directory / file.path: file.blake2b for file in record.training + record.dev}
        self._states = {path: _state(path) for path in self._digests}

    def check(self) -> None:
        """Raise `UserError` if something else is in a file than at the beginning. A file is only read for this if its
        size or its time has changed."""
        for path, before in self._states.items():
            if (now := _state(path)) == before:
                continue
            if file_digest(path) != self._digests[path]:
                raise UserError(f"{path}: has changed while it was in use; put back what it was, then --resume goes on")
            self._states[path] = now


def _state(path):
    try:
        status = path.stat()
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read any more ({error.strerror}); put it back, then --resume goes on"
        ) from error
    return status.st_ino, status.st_size, status.st_mtime_ns
