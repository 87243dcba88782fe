"""What runs beside a test, in threads and processes: waiting for it, and ending it."""

import contextlib
import os
import signal
import time


def wait_until(condition, seconds=60):
    """Wait until `condition()` is true, and return it; fail if it is not within so many seconds."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {seconds} seconds"
        time.sleep(0.005)
    return value


@contextlib.contextmanager
def ended(process):
    """`with ended(subprocess.Popen(...)) as process:` it is killed in the end, if it has not ended by then."""
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def group_ended(process):
    """As `ended`, of a process with a session of its own (`start_new_session`), and of all that it has started."""
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # all have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
