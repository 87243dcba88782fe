"""How many processors this process may use."""

import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def processors() -> int:
    """How many of the machine's processors this process may run on, or fewer where a container's limit is lower."""
    allowed, limit = len(os.sched_getaffinity(0)), _limit()
    return allowed if limit is None else max(1, min(allowed, round(limit)))


def _limit() -> float | None:
    """The processors' time per time of the clock that the control group of this process may take; None without limit.

    Docker and Kubernetes set it (`--cpus`, `limits.cpu`). Linux shows it under version 2 of control groups as "quota
    period" or "max period", under version 1 as two files of which the quota is -1 without limit.
    """
    try:
        quota, period = (_CGROUP / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota, period = ((_CGROUP / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        except OSError:
            return None
    return float(quota) / float(period) if quota != "max" and float(quota) > 0 else None
