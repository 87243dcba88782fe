"""Something done again and again beside the work of a block, in a thread that ends with it."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from tfnmt.signals import signals_wait


@contextlib.contextmanager
def repeatedly(act: Callable[[], None], seconds: float) -> Iterator[None]:
    """Within it, a thread calls a function every so many seconds, the first time after so many; it is not called any
    more when the block has ended.
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
