"""What runs beside a test, in threads and processes: waiting for it, and ending it."""

import contextlib
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
