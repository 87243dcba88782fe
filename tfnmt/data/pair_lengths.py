"""What the lengths of a pair decide: whether it is trained on, and the bucket of its batch."""

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from tfnmt.data.batching_configuration import BatchingConfiguration

OUTCOMES = ("kept", "too_long", "ratio", "empty")
KEPT, TOO_LONG, RATIO, EMPTY = range(len(OUTCOMES))

# Pairs are not filtered by length ratio up to this length of the longer side.
_RATIO_FREE_LENGTH = 10
# More buckets need less padding, but end an epoch with more batches that are not full. On Multi30k (14 words a
# sentence, batches of 64), 15% of the target positions are padding with 10 buckets, 8% with 24.
_BUCKETS = 24
_SHORTEST_BUCKET = 8


def outcomes(source_length: tf.Tensor, target_length: tf.Tensor, configuration: BatchingConfiguration) -> tf.Tensor:
    """For each pair an index into OUTCOMES, int32 [pairs].

    Args:
        source_length, target_length: tokens of each side, int64 [pairs].
        configuration: a `BatchingConfiguration`.
    """
    shorter, longer = tf.minimum(source_length, target_length), tf.maximum(source_length, target_length)
    ratio_limit = configuration.maximum_ratio * tf.cast(shorter, tf.float32)
    above_ratio = (longer > _RATIO_FREE_LENGTH) & (tf.cast(longer, tf.float32) > ratio_limit)
    outcome = tf.where(above_ratio, RATIO, KEPT)
    outcome = tf.where(shorter == 0, EMPTY, outcome)
    return tf.where(longer > configuration.maximum_length, TOO_LONG, outcome)


def bucket_length(source_length: tf.Tensor, target_length: tf.Tensor) -> tf.Tensor:
    """The length that decides on a pair's bucket: tokens of the longer side, END included."""
    return tf.maximum(source_length, target_length) + 1


def buckets(configuration: BatchingConfiguration) -> tuple[list[int], list[int]]:
    """(boundaries, batch sizes): the boundaries grow by a constant factor; a bucket holds the lengths below its own."""
    longest = configuration.maximum_length + 1
    boundaries = np.geomspace(min(_SHORTEST_BUCKET, longest), longest, _BUCKETS)
    boundaries = np.unique(np.ceil(boundaries.round(6)).astype(int)) + 1
    if configuration.batch_by == "sentences":
        batch_sizes = [configuration.batch_size] * len(boundaries)
    else:
        batch_sizes = [max(1, configuration.batch_size // int(boundary - 1)) for boundary in boundaries]
    # `bucket_by_sequence_length` needs a last bucket for all that is longer; after the filters it is empty.
    return boundaries.tolist(), [*batch_sizes, 1]


@dataclass(frozen=True)
class Dropped:
    """How many pairs the filters keep and drop; `str()` is a line for the log."""

    kept: int
    too_long: int
    ratio: int
    empty: int
    batches: int
    """Batches of an epoch, the same number in every epoch."""
    first_lines: dict[str, int]
    """The first line (counted from 1) dropped for each reason, "too_long", "ratio" or "empty"."""
    unit: str
    """What `first_lines` counts: "line" of a file, or "record"."""
    configuration: BatchingConfiguration

    def __str__(self) -> str:
        reasons = {
            "too_long": f"longer than {self.configuration.maximum_length} tokens",
            "ratio": f"with length ratio over {self.configuration.maximum_ratio}",
            "empty": "empty",
        }
        counts = {name: getattr(self, name) for name in reasons}
        total = self.kept + sum(counts.values())
        if total == self.kept:
            return f"kept all {total:,} pairs"
        dropped = ", ".join(
            f"{count:,} {reasons[name]} (first: {self.unit} {self.first_lines[name]:,})"
            for name, count in counts.items()
            if count
        )
        return f"kept {self.kept:,} of {total:,} pairs; dropped {dropped}"


class LengthCounter:
    """Counts what is kept and dropped, and the batches, from the lengths of pairs."""

    def __init__(self, configuration: BatchingConfiguration):
        self._configuration = configuration
        self._boundaries, self._batch_sizes = buckets(configuration)
        self._in_buckets = np.zeros(len(self._batch_sizes), np.int64)
        self._counts = dict.fromkeys(OUTCOMES, 0)
        self._first_lines: dict[str, int] = {}

    def add(self, outcome: np.ndarray, length: np.ndarray, pairs: np.ndarray, lines: np.ndarray) -> None:
        """Count pairs.

        Args:
            outcome: indices into OUTCOMES, [n].
            length: what `bucket_length` says, [n].
            pairs: how many pairs each stands for, [n].
            lines: where the first of them is, [n], counted from 1.
        """
        for value, name in enumerate(OUTCOMES):
            (found,) = np.nonzero(outcome == value)
            if len(found):
                self._counts[name] += int(pairs[found].sum())
                first = int(lines[found].min())
                self._first_lines[name] = min(first, self._first_lines.get(name, first))
        kept = outcome == KEPT
        places = np.searchsorted(self._boundaries, length[kept], side="right")
        np.add.at(self._in_buckets, places, pairs[kept])

    def dropped(self, unit: str = "line") -> Dropped:
        """The counts; `unit` is what the places of pairs are counted in."""
        batches = int(np.sum(-(-self._in_buckets // self._batch_sizes)))
        if self._configuration.subword_sampling is not None:  # batches of any lengths, see `drawn_batches`
            batches = -(-self._counts["kept"] // self._configuration.batch_size)
        first_lines = {name: line for name, line in self._first_lines.items() if name != "kept"}
        return Dropped(
            **self._counts, batches=batches, first_lines=first_lines, unit=unit, configuration=self._configuration
        )
