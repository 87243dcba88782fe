"""How far a run has come: what it needs, beside weights and optimizer, to go on after a kill as if uninterrupted."""

import csv
import dataclasses
import json
import math
from pathlib import Path

from tfnmt.errors import UserError
from tfnmt.files import atomic_write


@dataclasses.dataclass
class Progress:
    """Where the run is, and its best score."""

    batches_per_epoch: int = 0
    """Batches in every epoch."""
    epoch: int = 0
    """Finished epochs."""
    batches: int = 0
    """Finished batches of the present epoch."""
    steps: int = 0
    """Finished batches of all epochs."""
    metrics: list = dataclasses.field(default_factory=list)
    """The values of the metrics' variables after those batches, when saved within an epoch."""
    seconds: float = 0.0
    """Time spent, in all sessions of the run."""
    best_score: float | None = None
    """The best dev score; higher is better (of a loss, its negative)."""
    best_epoch: int = 0
    """Its epoch, counted from 1."""
    halved_at: int = 0
    """The last epoch after which the learning rate was halved."""
    passing: bool = False
    """Whether the checkpoint that holds this goes with the next one, and takes no place among those that stay."""
    history: list = dataclasses.field(default_factory=list)
    """A dictionary of figures for each finished epoch."""

    def to_text(self) -> str:
        """All of it as JSON, to be saved in a checkpoint."""
        return json.dumps(dataclasses.asdict(self))

    def restore(self, text: bytes | str) -> None:
        """Set all fields to what `to_text` gave."""
        for name, value in json.loads(text).items():
            setattr(self, name, value)

    def best_epoch_until(self, epoch: int, measure: str) -> int:
        """The epoch with the best dev score among the first `epoch` ones: the first of equal ones, 0 if there is none.
        One that is not a number is no score.

        Unlike `best_epoch`, it does not depend on scores within an epoch, at the step where a run was stopped.
        """
        sign, name = -1 if measure == "loss" else 1, f"dev_{measure}"
        rows = [row for row in self.history if row["epoch"] <= epoch and not math.isnan(row[name])]
        return max(rows, key=lambda row: sign * row[name], default={"epoch": 0})["epoch"]

    def write_history(self, path: str | Path) -> None:
        """Write `history` as a CSV file with a header; a field is empty where an epoch has no such figure."""
        names = dict.fromkeys(name for row in self.history for name in row)
        with atomic_write(path) as part, open(part, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(names))
            writer.writeheader()
            writer.writerows(self.history)


def read_history(path: str | Path) -> list[dict[str, float]]:
    """What `Progress.write_history` wrote: a row of figures for each epoch; empty where there is no such file.

    Raises:
        UserError: the file is broken.
    """
    if not Path(path).exists():
        return []
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise UserError(f"{path}: is broken ({error})") from error
