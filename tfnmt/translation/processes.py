"""Translation by several processes of this machine: sentences are independent of each other.

Each process has the models. Windows of lines go to whichever is free, and come back in their order.
"""

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

from tfnmt.errors import UserError
from tfnmt.tensorflow_start import process_pool
from tfnmt.threads import use_threads
from tfnmt.translation.loading import load_searcher
from tfnmt.translation.postprocessing import Translations
from tfnmt.translation.search_configuration import SearchConfiguration

Window = tuple[list[str], list[str] | None]
"""Texts, and what their translations are to begin with."""


class ProcessSettings(NamedTuple):
    """What every process needs to know."""

    models: Sequence[str]
    """Directories; of several the mean of the probabilities counts."""
    configuration: SearchConfiguration
    shortlist: str | None
    """The file of one."""
    batch_size: int
    threads: int
    """Processors of each process."""
    device: str | None
    """See `tfnmt.devices.use_device`."""


def translate_in_processes(
    settings: ProcessSettings, windows: Iterable[Window], processes: int, advance: Callable[[int], None] | None = None
) -> Iterator[Translations]:
    """What `Searcher.translate` gives for each text of the windows, in order.

    Args:
        settings: what to translate with.
        windows: read as they are needed: two for each process at most.
        processes: how many.
        advance: called after each window with the number of its texts.

    Raises:
        UserError: as the windows, after the translations of those before; a process has died.
    """

    def submitted(pool: ProcessPoolExecutor) -> Iterator[Future]:
        try:
            for window in windows:
                yield pool.submit(_translate, window)
        except (UserError, BrokenProcessPool) as error:  # comes in its turn
            failed: Future = Future()
            failed.set_exception(error)
            yield failed

    def finished(future: Future) -> list[Translations]:
        try:
            translations = future.result()
        except BrokenProcessPool as error:
            raise UserError("a process has died, perhaps for want of memory: take fewer --processes") from error
        if advance:
            advance(len(translations))
        return translations

    waiting: collections.deque[Future] = collections.deque()
    with process_pool(processes, _begin, settings) as pool:
        for future in submitted(pool):
            waiting.append(future)
            if len(waiting) >= 2 * processes:
                yield from finished(waiting.popleft())
        while waiting:
            yield from finished(waiting.popleft())


def _begin(settings):
    """In a process of the pool, before its first window."""
    global _searcher, _batch_size
    from tfnmt.devices import use_device

    use_threads(settings.threads)
    use_device(settings.device)
    _searcher = load_searcher(settings.models, settings.configuration, settings.shortlist)
    _batch_size = settings.batch_size


def _translate(window):
    texts, prefixes = window
    return _searcher.translate(texts, _batch_size, prefixes)
