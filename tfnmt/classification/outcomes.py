"""What a classifier said of each example: its errors by length and by label, and whether another one is better."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

BINS = 6


class Outcomes(NamedTuple):
    """Arrays [examples], int but for `places`, in the order in which examples are evaluated: each model has its own."""

    places: np.ndarray
    """Which example each is: the places of an `ExampleDataset`."""
    labels: np.ndarray
    """The right labels."""
    predicted: np.ndarray
    """Those that the model gives."""
    words: np.ndarray
    """Words of the sentence, of pairs those of the longer one, without brackets."""

    @property
    def right(self) -> np.ndarray:
        """Whether each is right, bool [examples]."""
        return self.labels == self.predicted


def accuracy_by_length(outcomes: Outcomes) -> dict[str, tuple[int, float]]:
    """(examples, accuracy) by the number of words, such as "9-12", in up to six bins of about as many examples."""
    highest = np.unique(np.quantile(outcomes.words, np.linspace(0, 1, BINS + 1)[1:], method="higher"))
    lowest = [outcomes.words.min(), *(highest[:-1] + 1)]
    bins = {}
    for low, high in zip(lowest, highest, strict=True):
        inside = (low <= outcomes.words) & (outcomes.words <= high)
        name = f"{low}-{high}" if low < high else f"{low}"
        bins[name] = (int(inside.sum()), float(outcomes.right[inside].mean()))
    return bins


def confusion_matrix(outcomes: Outcomes, labels: int) -> np.ndarray:
    """int [labels, labels]: how many examples of each label (rows) the model gave each label (columns)."""
    matrix = np.zeros([labels, labels], int)
    np.add.at(matrix, (outcomes.labels, outcomes.predicted), 1)
    return matrix


def mcnemar(outcomes: Outcomes, others: Outcomes) -> float:
    """The p-value of McNemar's exact test (McNemar 1947), two-sided: how probable it is that of the examples which
    only one of two models gets right, one has so many more than the other, if both were equally good.

    It is of the examples that both have: one model may skip those whose trees are broken.
    """
    _, indices, indices_of_others = np.intersect1d(outcomes.places, others.places, return_indices=True)
    right, right_of_others = outcomes.right[indices], others.right[indices_of_others]
    only_one = int(np.sum(right & ~right_of_others))
    only_other = int(np.sum(right_of_others & ~right))
    n, fewer = only_one + only_other, min(only_one, only_other)
    log_terms = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(fewer + 1)]
    return min(1.0, 2 * sum(math.exp(term - n * math.log(2)) for term in log_terms))


def text_of(outcomes: Outcomes, labels: Sequence[str]) -> str:
    """Accuracy by length and the confusion matrix as lines of text."""
    lines = ["", "   words  examples  accuracy"]
    for name, (count, accuracy) in accuracy_by_length(outcomes).items():
        lines.append(f"{name:>8}  {count:>8,}  {accuracy:>8.4f}")
    width = max(8, *map(len, labels))
    lines += ["", "label (rows), predicted (columns)", " " * width + "".join(f"  {name:>{width}}" for name in labels)]
    for name, row in zip(labels, confusion_matrix(outcomes, len(labels)), strict=True):
        lines.append(f"{name:>{width}}" + "".join(f"  {count:>{width},}" for count in row))
    return "\n".join(lines)
