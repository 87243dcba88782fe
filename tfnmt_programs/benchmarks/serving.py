"""How many requests a server answers in a second, how soon, and what the model does without a server."""

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers its operations

from tfnmt.errors import UserError


def in_process_rate(path: str | Path, sentences: Sequence[str], batch_size: int = 32, seconds: float = 5.0) -> float:
    """Sentences a second that an exported version computes in this process, batch after batch.

    Args:
        path: the version's folder.
        sentences: a list of strings, taken in turn.
        batch_size: sentences at once.
        seconds: to measure for, at least.
    """
    function = translating(path)
    supply = itertools.cycle(sentences)
    count, start = 0, None
    while start is None or time.perf_counter() - start < seconds:
        function(text=tf.constant(list(itertools.islice(supply, batch_size))))
        if start is None:
            start = time.perf_counter()  # the first batch warms up
        else:
            count += batch_size
    return count / (time.perf_counter() - start)


def translating(path: Path) -> tf.types.experimental.ConcreteFunction:
    """The signature "serving_default" of an exported version of a translator.

    Raises:
        UserError: it is none of a translator.
    """
    function = tf.saved_model.load(str(path)).signatures["serving_default"]
    if "translation" not in function.structured_outputs:
        raise UserError(f"{path}: is not an exported translator")
    return function


def server_figures(
    make_asker: Callable[[], Callable[[str], str]], sentences: Sequence[str], clients: int, seconds: float
) -> dict[str, float]:
    """What clients see who each send one sentence, wait for the answer, and send the next.

    Args:
        make_asker: makes a client: a function that asks for one sentence; see `tfnmt_programs.asking`.
        sentences: a list of strings, taken in turn.
        clients: how many.
        seconds: to measure for.

    Returns:
        A dictionary: "requests_per_second", "p50_ms" and "p99_ms" (median and 99th percentile of the latencies).

    Raises:
        UserError: a request was not answered.
    """
    supply, latencies, problems = itertools.cycle(sentences), [], []
    begin, end = time.perf_counter() + 0.5, time.perf_counter() + 0.5 + seconds  # the first half second warms up

    def work():
        ask = make_asker()
        while (start := time.perf_counter()) < end and not problems:
            try:
                ask(next(supply))
            except Exception as error:  # of any kind: it ends the measurement
                problems.append(f"{type(error).__name__}: {error}")
            if start >= begin:
                latencies.append(time.perf_counter() - start)

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems or not latencies:
        raise UserError(problems[0] if problems else "no request was answered in time")
    p50, p99 = np.percentile(latencies, [50, 99]) * 1e3
    return {"requests_per_second": len(latencies) / (time.perf_counter() - begin), "p50_ms": p50, "p99_ms": p99}
