"""Which devices train: `--strategy`."""

import contextlib
import logging
from collections.abc import Callable
from typing import Any, Literal

import keras
import tensorflow as tf

from tfnmt.training.keras_internals import set_number_of_batches
from tfnmt.training.replicas import Replicas, seed_states, slice_of
from tfnmt.training.workers import Workers, read_cluster

logger = logging.getLogger(__name__)


def connect(strategy: Literal["none", "mirrored", "multiworker"]) -> Replicas:
    """The replicas of a strategy: one device; all GPUs of this machine; the workers of TF_CONFIG, for which it waits.

    Raises:
        KeyError: there is no such strategy.
        UserError: TF_CONFIG is missing or broken; a worker does not answer.
    """
    replicas = {"none": Replicas, "mirrored": Mirrored, "multiworker": lambda: Workers(read_cluster())}
    return replicas[strategy]()


class Mirrored(Replicas):
    """One replica on each GPU of this process, by `tf.distribute.MirroredStrategy`; without a GPU, one in all.

    Args:
        devices: names of devices other than all GPUs.
    """

    # Keras decides in `tf.cond` whether a batch ends with an update. There, replicas cannot wait for one another.
    accumulates = False

    def __init__(self, devices: list[str] | None = None):
        self.strategy = tf.distribute.MirroredStrategy(devices)
        if devices is None and not tf.config.list_physical_devices("GPU"):
            logger.warning("--strategy mirrored: TensorFlow finds no GPU; training is on the processor")
        self.number = self.metric_copies = self.strategy.num_replicas_in_sync

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """See `Replicas`."""
        return self.strategy.scope()

    def divide(self, batches: tf.data.Dataset, select: Callable[..., Any]) -> Any:
        """See `Replicas`; a dataset in which the slices of a batch follow one another."""
        replicas = tf.data.Dataset.range(self.number)

        def slices(*batch: Any) -> tf.data.Dataset:
            return replicas.map(lambda index: slice_of(batch, self.number, index, select))

        divided = self.strategy.distribute_datasets_from_function(
            lambda _: batches.flat_map(slices).prefetch(self.number)
        )
        set_number_of_batches(divided, int(batches.cardinality()))
        return divided

    def sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """See `Replicas`."""
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tensors)

    def separate_seeds(self, model: keras.Model) -> None:
        """See `Replicas`."""
        for state in seed_states(model):
            for index, of_replica in enumerate(self.strategy.experimental_local_results(state.value)):
                of_replica.assign_add([index, 0])
