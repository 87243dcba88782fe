"""Training that is disturbed at random moments, beside the same training left alone: the weights must be the same.

A run is started, ended in one of the ways of `disturbances`, resumed, ended again, until it comes to its end. Then
every tensor of its model and of its last checkpoint is compared, bit by bit, with that of an undisturbed run.
"""

import logging
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tfnmt.commands.run import environment_with
from tfnmt.errors import UserError
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.model_directory import CHECKPOINTS
from tfnmt.training.workers import CONNECTS_WITHIN
from tfnmt_programs.soak.comparison import differences
from tfnmt_programs.soak.disturbances import DISTURBANCES, ENDS_WITHIN, disturb
from tfnmt_programs.soak.workers import WorkerGroup

logger = logging.getLogger(__name__)

_OPTIONS = ("--preset", "tiny", "--epochs", "6", "--set", "checkpoint_steps=50")
_TRANSLATOR = ("train-translator", *_OPTIONS)
_CLASSIFIER = ("train-classifier", *_OPTIONS, "--task", "snli", "--encoder")
CASES = {
    "float32": (*_TRANSLATOR, "micro_batches=1"),
    "float32_micro_batches": (*_TRANSLATOR, "micro_batches=2"),
    "bfloat16": (*_TRANSLATOR, "mixed_precision=true"),
    "accumulation_average": (*_TRANSLATOR, "accumulation_steps=3", "weight_average=0.99"),
    "spinn": (*_CLASSIFIER, "spinn"),
    "rl-spinn": (*_CLASSIFIER, "rl-spinn"),
}
"""The verb and the options of the trainings, by name, without the directory."""
LONGEST_WAIT = 40.0
"""Seconds before a disturbance, at most."""


def soak(case: str, folder: Path, kills: int, seed: int, workers: int = 1) -> dict[str, Any]:
    """Disturb one of `CASES`; see `disturbed_runs`. Of several workers, one at a time is disturbed."""
    verb, *options = CASES[case]
    command = (sys.executable, "-m", "tfnmt", verb)

    def session(directory):
        if checkpoint_names(directory / CHECKPOINTS):
            return [*command, "--resume", str(directory)]
        return [*command, *options, "--output", str(directory)]  # it had not begun

    if workers == 1:
        return disturbed_runs(session, differences, folder, kills, seed)
    chosen = random.Random(seed)

    def start(command):
        return WorkerGroup([*command, "--strategy", "multiworker"], environment_with(), workers, chosen)

    # A worker that is killed before the workers have met is waited for, like one that is late.
    ends_within = CONNECTS_WITHIN + ENDS_WITHIN
    return disturbed_runs(session, differences, folder, kills, seed, start=start, ends_within=ends_within)


def disturbed_runs(
    session: Callable[[Path], Sequence[str]],
    compare: Callable[[Path, Path], list[str]],
    folder: Path,
    kills: int,
    seed: int,
    longest_wait: float = LONGEST_WAIT,
    start: Callable[[Sequence[str]], Any] | None = None,
    ends_within: float = ENDS_WITHIN,
) -> dict[str, Any]:
    """Disturb runs until `kills` disturbances have ended one; each run goes on to its end and is compared.

    Args:
        session: the command that starts the run in a directory, or goes on with it.
        compare: gives the names of what differs between two directories.
        folder: where the runs go.
        kills: how many disturbances.
        seed: of their kinds and moments.
        longest_wait: seconds before a disturbance, at most.
        start: starts what runs such a command, and has the interface of `subprocess.Popen`, which is the default.
        ends_within: seconds in which what is disturbed must end.

    Returns:
        "runs", how many came to their end; "differences", the names of what differs in any of them; "seconds_alone", of
        the undisturbed run; "seconds_lost_per_kill", the mean time that a disturbance costs; and how many there were of
        each kind.

    Raises:
        UserError: a session ends otherwise than it must.
    """
    generator, start = random.Random(seed), start or _started
    seconds_alone = _finish(start, session(folder / "alone"))
    counts = dict.fromkeys(DISTURBANCES, 0)
    different: set[str] = set()
    runs, seconds_lost = 0, 0.0
    while sum(counts.values()) < kills:
        runs += 1
        directory, began = folder / f"disturbed-{runs}", time.monotonic()
        while sum(counts.values()) < kills:
            kind, wait = generator.choice(list(DISTURBANCES)), generator.uniform(0, longest_wait)
            if not _disturbed(start, session(directory), kind, wait, generator, ends_within):
                break
            counts[kind] += 1
            logger.info("%d of %d: %s after %.1f s", sum(counts.values()), kills, kind, wait)
        else:
            _finish(start, session(directory))
        seconds_lost += time.monotonic() - began - seconds_alone
        different |= set(compare(folder / "alone", directory))
    figures = {"runs": runs, "differences": sorted(different), "seconds_alone": seconds_alone}
    return figures | {"seconds_lost_per_kill": seconds_lost / kills} | counts


def _disturbed(start, command, kind, wait, generator, ends_within):
    """Run a session and disturb it after so many seconds; whether that ended it, rather than its own end."""
    with start(command) as process:
        try:
            status = process.wait(wait)
        except subprocess.TimeoutExpired:
            return disturb(process, kind, generator, ends_within)
        _check_end(command, status)
        return False


def _finish(start, command):
    """Let a run come to its end; the seconds that it took."""
    began = time.monotonic()
    with start(command) as process:
        _check_end(command, process.wait())
    return time.monotonic() - began


def _check_end(command, status):
    if status != 0:
        raise UserError(f"{' '.join(command)}: ended by itself, with status {status}")


def _started(command):
    return subprocess.Popen(command, env=environment_with(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
