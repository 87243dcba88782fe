"""Two programs that run in turn, for seconds each, so that what else the machine does falls on both alike.

A machine that is shared may work at two thirds of its speed for a minute, and a run that lasts as long measures that.
So a program is stopped (SIGSTOP) while the other runs, and only the time in which it runs is counted.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tfnmt.errors import UserError

SLICE_SECONDS = 3.0
POLL_SECONDS = 0.02


class SlicedProgram:
    """A command that runs in slices of time.

    Args:
        command: what to run.
        folder: where; its streams go to stdout and stderr there.
        environment: of the process.
        units_done: how many of its units, such as epochs, are done by now.
        standard_input: the file that it reads there.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        units_done: Callable[[], int],
        standard_input: str | os.PathLike = os.devnull,
    ):
        self.command, self.folder, self.units_done = list(command), folder, units_done
        self.seconds = 0.0
        self.unit_ends: list[float] = []
        with (
            open(standard_input, "rb") as source,
            open(folder / "stdout", "wb") as output,
            open(folder / "stderr", "wb") as errors,
        ):
            self.process = subprocess.Popen(
                self.command, cwd=folder, env=environment, stdin=source, stdout=output, stderr=errors
            )
        self.process.send_signal(signal.SIGSTOP)

    def run(self, seconds: float) -> None:
        """Let it run for so long, or to its end.

        Raises:
            UserError: it ended with another status than 0.
        """
        start = time.perf_counter()
        self.process.send_signal(signal.SIGCONT)
        while not self.has_ended() and time.perf_counter() < start + seconds:
            time.sleep(POLL_SECONDS)
            self._note_units(time.perf_counter() - start)
        self.process.send_signal(signal.SIGSTOP)
        self.seconds += time.perf_counter() - start
        if self.has_ended():
            self._note_units(0.0)
            self._check_status()

    def has_ended(self) -> bool:
        """Whether there is nothing left to run."""
        return self.process.poll() is not None

    def seconds_of_units(self) -> list[float]:
        """How long it ran for each unit after the first, before which it starts and traces its functions."""
        return [end - start for start, end in zip(self.unit_ends, self.unit_ends[1:], strict=False)]

    def end(self) -> None:
        """Kill it, unless it has ended."""
        self.process.kill()
        self.process.wait()

    def _note_units(self, seconds):
        new = self.units_done() - len(self.unit_ends)
        self.unit_ends += [self.seconds + seconds] * new

    def _check_status(self):
        if self.process.returncode:
            lines = (self.folder / "stderr").read_text(encoding="utf-8", errors="replace").splitlines()
            last = next((line for line in reversed(lines) if line.strip()), "it did not say why")
            raise UserError(f"{' '.join(self.command)}: status {self.process.returncode}: {last}")


def run_in_turn(programs: Sequence[SlicedProgram]) -> None:
    """Run programs to their ends, a slice of each in turn.

    Raises:
        UserError: one ended with another status than 0; the others are killed.
    """
    try:
        while running := [program for program in programs if not program.has_ended()]:
            for program in running:
                program.run(SLICE_SECONDS)
    finally:
        for program in programs:
            program.end()


def lines_in(path: str | os.PathLike) -> int:
    """How many whole lines a file has by now; 0 if it is not there yet."""
    try:
        return Path(path).read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0
