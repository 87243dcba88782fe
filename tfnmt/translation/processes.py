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
from tfnmt.translation.postprocessing import Translations
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher

Window = tuple[list[str], list[str] | None]
"""Texts, and what their translations are to begin with."""


class Work(NamedTuple):
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


def load_searcher(work: Work) -> Searcher:
    """The searcher of the models, in this process."""
    import tfnmt
    from tfnmt.translation.shortlist import load_shortlist

    models = [tfnmt.load(directory, "translator") for directory in work.models]
    return Searcher(models, work.configuration, load_shortlist(work.shortlist) if work.shortlist else None)


def translate_in_processes(
    work: Work, windows: Iterable[Window], processes: int, advance: Callable[[int], None] | None = None
) -> Iterator[Translations]:
    """What `Searcher.translate` gives for each text of the windows, in order.

    Args:
        work: what to translate with.
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
    with process_pool(processes, _begin, work) as pool:
        for future in submitted(pool):
            waiting.append(future)
            if len(waiting) >= 2 * processes:
                yield from finished(waiting.popleft())
        while waiting:
            yield from finished(waiting.popleft())


def _begin(work):
    """In a process of the pool, before its first window."""
    global _searcher, _batch_size
    from tfnmt.devices import use_device

    use_threads(work.threads)
    use_device(work.device)
    _searcher, _batch_size = load_searcher(work), work.batch_size


def _translate(window):
    texts, prefixes = window
    return _searcher.translate(texts, _batch_size, prefixes)
