"""The copies of a model among which every batch of a training is divided: one, or those of a strategy.

The global batch is the same whatever their number. Each replica takes every n-th of its examples; counts and gradients
are summed over all replicas, so that loss and update are those of the whole batch.
"""

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import keras
import tensorflow as tf

Value = TypeVar("Value")


class Replicas:
    """One replica in one process; the base of strategies with several."""

    number = 1
    """How many there are, in all processes."""
    processes = 1
    """In how many processes they are."""
    is_chief = True
    """Whether this process writes checkpoints, scores and logs. There is one that does."""
    outside_signal: Callable[[], int] = staticmethod(lambda: 0)
    """Gives the number of a signal that another process has received for this one, or 0."""
    metric_copies = 1
    """How many copies of a metric are added up when it is read."""

    accumulates = True
    """Whether gradients can be accumulated over several batches."""

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """The context in which model and optimizer are made."""
        return contextlib.nullcontext()

    def divide(self, batches: tf.data.Dataset, select: Callable[..., Any]) -> Any:
        """The data of this process's replicas, for `fit`.

        Args:
            batches: global batches (inputs, labels).
            select: `select(inputs, labels, indices)` gives those of some of a batch's examples.
        """
        return batches

    def sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Sums over all replicas, which must all call this; float tensors of any shapes. To be called in a step."""
        return tensors

    def sum_of_processes(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Sums over all processes, of what TensorFlow adds up within a process by itself."""
        return tensors

    def from_chief(self, make: Callable[[], Value]) -> Value:
        """What the chief's `make` returns, which JSON must be able to hold; the other processes do not call theirs.

        Raises:
            UserError: the chief's `make` raised one, in every process.
        """
        return make()

    def agree(self, number: int) -> int:
        """The largest of the numbers that the processes give."""
        return number

    def errors(self) -> contextlib.AbstractContextManager[Any]:
        """A context in which the loss of another process is told as a `UserError`."""
        return contextlib.nullcontext()

    def share(self, variables: list[Any]) -> None:
        """Give every process the chief's values of variables."""

    def separate_seeds(self, model: keras.Model) -> None:
        """Give each replica random numbers of its own, for dropout and draws; the first keeps those it has."""


ONE_REPLICA = Replicas()


def slice_of(batch: Any, number: int, index: int | tf.Tensor, select: Callable[..., Any]) -> tuple[Any, Any, tf.Tensor]:
    """A replica's part of a global batch: every `number`-th example from `index` on.

    Args:
        batch: inputs and labels.
        number, index: of the replicas.
        select: as for `Replicas.divide`.

    Returns:
        (inputs, labels, weight): weight is a float32 scalar, 1; or 0 where the batch has too few examples, so that
        the part is one of another replica's, and must not count.
    """
    inputs, labels = batch
    count, index = tf.shape(labels)[0], tf.cast(index, tf.int32)
    indices = tf.range(index % count, count, number)
    return *select(inputs, labels, indices), tf.cast(index < count, tf.float32)


def seed_states(model: keras.Model) -> list[keras.Variable]:
    """The variables [seed, counter] of a model's random generators."""
    weights = {id(weight) for weight in model.weights}  # which are all variables but those
    return [variable for variable in model.variables if id(variable) not in weights]
