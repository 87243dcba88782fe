"""log.txt in a run's directory: all that the library logs while the run lasts, with the time. A resumed run appends."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from tfnmt.training.run_record import RECORD

LOG = "log.txt"


@contextlib.contextmanager
def log_to_file(directory: Path) -> Iterator[None]:
    """Within the block, what the loggers under `tfnmt` let through goes to log.txt too, and so does an early end.

    Args:
        directory: the run's. Nothing is written before its run.json is there, so that a run that is refused leaves
            nothing behind.
    """
    logger, handler = logging.getLogger("tfnmt"), _LogFile(directory)
    logger.addHandler(handler)
    try:
        yield
    except BaseException as error:  # of any kind, such as an interrupt: the log tells how the run ended
        reason = f"ended by {type(error).__name__}" + (f": {error}" if str(error) else "")
        handler.handle(logger.makeRecord(logger.name, logging.ERROR, __file__, 0, reason, (), None))
        raise
    finally:
        logger.removeHandler(handler)
        handler.close()


class _LogFile(logging.FileHandler):
    def __init__(self, directory):
        super().__init__(directory / LOG, encoding="utf-8", delay=True)
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
        self.record, self.waiting = directory / RECORD, []

    def emit(self, record):
        self.waiting.append(record)
        if self.record.exists():
            while self.waiting:
                with contextlib.suppress(OSError):  # a log that cannot be opened, or written, ends no training
                    super().emit(self.waiting.pop(0))

    def handleError(self, record):  # noqa: N802 (logging's name)
        """Of an error while a line is written, as on a full disk: say nothing."""
