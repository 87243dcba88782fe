"""Several things measured in turn, so that what else the machine does meanwhile falls on all alike."""

import logging
import statistics
from collections.abc import Callable, Mapping, Sequence

logger = logging.getLogger(__name__)


def alternate(measurements: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Measure everything in turn, round after round, every other round in the opposite order.

    Args:
        measurements: functions by name, each of which does its work and returns a rate or a time.
        rounds: how often each is called.

    Returns:
        The values by name, a list for each, in the order of the rounds.
    """
    rates = {name: [] for name in measurements}
    for i in range(rounds):
        for name in list(measurements) if i % 2 == 0 else reversed(measurements):
            rates[name].append(measurements[name]())
        logger.info("round %d: %s", i + 1, ", ".join(f"{name} {_short(values[-1])}" for name, values in rates.items()))
    return rates


def _short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio_figures(ours: Sequence[float], peer: Sequence[float]) -> dict[str, float]:
    """Medians of two lists of rates, and of their ratios round by round, with the smallest and the largest ratio."""
    ratios = [one / other for one, other in zip(ours, peer, strict=True)]
    return {
        "ours": statistics.median(ours),
        "peer": statistics.median(peer),
        "ratio": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
    }
