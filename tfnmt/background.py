"""Something done again and again beside the work of a block, in a thread that ends with it."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from tfnmt.signals import signals_wait


@contextlib.contextmanager
def repeatedly(act: Callable[[], None], seconds: float) -> Iterator[None]:
    """While the block runs, a thread calls `act` every `seconds` seconds, first after that time. When the block has
    ended, it is not called any more.
    """
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(seconds):
            act()

    thread = threading.Thread(target=repeat, daemon=True)
    with signals_wait():  # which are the main thread's
        thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
