"""Time and memory of what this process, or another, does."""

import os
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf


def seconds_of(function: Callable[[], object]) -> float:
    """How long a call takes, until every tensor that it returns is computed."""
    start = time.perf_counter()
    for result in tf.nest.flatten(function(), expand_composites=True):
        if isinstance(result, tf.Tensor):
            result.numpy()
    return time.perf_counter() - start


def least_seconds(function: Callable[[], object], times: int) -> float:
    """The least of several times, so that what else the machine does counts little; tracing comes before them."""
    function()
    return min(seconds_of(function) for _ in range(times))


def least_seconds_in_turn(*functions: Callable[[], object], seconds: float) -> list[float]:
    """The least of several times of each, in turn, so that what else the machine does meets all alike: three times or
    more, until they have taken so many seconds."""
    for function in functions:
        function()
    times: list[list[float]] = []
    while len(times) < 3 or sum(map(sum, times)) < seconds:
        times.append([seconds_of(function) for function in functions])
    return [min(each) for each in zip(*times, strict=True)]


def median_seconds(function: Callable[[], object], times: int) -> float:
    """The median of several times."""
    return statistics.median(seconds_of(function) for _ in range(times))


def resident_memory(process: int | str = "self") -> int:
    """Bytes of memory that a process holds now: this one, or that of an id."""
    return _status("VmRSS", process)


def peak_memory(process: int | str = "self") -> int:
    """The most bytes that it has held."""
    return _status("VmHWM", process)


def reset_peak_memory(process: int | str = "self") -> None:
    """From now on, `peak_memory` of that process is the most that it holds from here on."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def memory_growth(before: int, process: int | str = "self") -> int:
    """How many bytes more than `before`, what `resident_memory` gave, that process has held since; 0 where the kernel's
    figures, which are some pages inexact, say less."""
    return max(0, peak_memory(process) - before)


def processor_seconds(process: int) -> float:
    """How long processors have worked for that process, all its threads together; to 0.01 s."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # in user and in system mode


def _status(name, process):
    # Not `getrusage`: a process that was forked from another counts the peak of that one as its own.
    return 1024 * int(re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text()).group(1))
