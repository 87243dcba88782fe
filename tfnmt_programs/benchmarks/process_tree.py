"""The memory and the processor time of this process and all that it has started, over time."""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tfnmt.background import repeatedly
from tfnmt_programs.measuring import processor_seconds
from tfnmt_programs.soak.processes import descendants

SECONDS_BETWEEN = 1.0


@dataclass
class Samples:
    """What was seen, once a second."""

    seconds: list[float] = field(default_factory=list)
    """Since the first sample."""
    stages: list[str] = field(default_factory=list)
    """What was going on."""
    bytes: list[int] = field(default_factory=list)
    """Of memory; what several processes share is counted once."""
    processor_seconds: list[float] = field(default_factory=list)
    """Of all processes, those that have ended too."""

    def of_stage(self, stage: str) -> dict[str, float]:
        """How long a stage took, its processor seconds, and the memory half way and at most, in megabytes."""
        places = [place for place, name in enumerate(self.stages) if name == stage]
        if not places:
            return {}
        first, last = max(places[0] - 1, 0), places[-1]
        megabytes = [self.bytes[place] / 1e6 for place in places]
        return {
            "seconds": self.seconds[last] - self.seconds[first],
            "processor_seconds": self.processor_seconds[last] - self.processor_seconds[first],
            "megabytes_half_way": megabytes[len(megabytes) // 2],
            "megabytes_at_most": max(megabytes),
        }


@contextlib.contextmanager
def sampled(stage: Callable[[], str]) -> Iterator[Samples]:
    """Within the block, samples are taken.

    Args:
        stage: says what is going on.
    """
    samples, used, began = Samples(), {}, time.monotonic()

    def sample() -> None:
        total = 0
        for process in (os.getpid(), *descendants(os.getpid())):
            with contextlib.suppress(OSError, AttributeError):  # it has ended meanwhile
                used[process] = processor_seconds(process)
                total += _own_memory(process)
        samples.seconds.append(time.monotonic() - began)
        samples.stages.append(stage())
        samples.bytes.append(total)
        samples.processor_seconds.append(sum(used.values()))

    sample()
    try:
        with repeatedly(sample, SECONDS_BETWEEN):
            yield samples
    finally:
        sample()


def _own_memory(process: int) -> int:
    """Bytes of a process; of those that n processes share, an n-th."""
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    return 1024 * int(re.search(r"^Pss:\s+(\d+) kB", rollup, re.M).group(1))
