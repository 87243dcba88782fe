"""How far a run has come: what it needs, beside weights and optimizer, to go on after a kill as if nothing had been."""

import csv
import dataclasses
import json

import tensorflow as tf

from tfnmt.files import written_whole


@dataclasses.dataclass
class Progress:
    """Where the run is and how good it has been."""

    batches_per_epoch: int = 0
    """Batches in every epoch."""
    epoch: int = 0
    """Epochs finished."""
    batches: int = 0
    """Batches of the present epoch that are done."""
    steps: int = 0
    """Batches of all epochs that are done."""
    metrics: list = dataclasses.field(default_factory=list)
    """The values of the metrics' variables after those batches, when saved within an epoch."""
    seconds: float = 0.0
    """Time spent, in all sessions of the run."""
    best_score: float | None = None
    """The best dev score; higher is better (a loss counts as its negative)."""
    best_epoch: int = 0
    """The epoch that had it, counted from 1."""
    halved_at: int = 0
    """The last epoch after which the learning rate was halved."""
    history: list = dataclasses.field(default_factory=list)
    """A dictionary of figures for each finished epoch."""

    def to_tensor(self):
        """All of it as a scalar string, to be saved in a checkpoint."""
        return tf.constant(json.dumps(dataclasses.asdict(self)))

    def restore(self, text):
        """Take over what `to_tensor` wrote."""
        for name, value in json.loads(text).items():
            setattr(self, name, value)

    def write_history(self, path):
        """`history` as a CSV file with a head line."""
        with written_whole(path) as part, open(part, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(self.history[0]))
            writer.writeheader()
            writer.writerows(self.history)
