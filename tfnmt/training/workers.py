"""Training by several workers: a process each, on one machine or many, that sum their gradients.

The workers find one another by the environment variable TF_CONFIG, as TensorFlow defines it:

    {"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}, "task": {"type": "worker", "index": 0}}

Worker 0 is the chief. Each worker has the whole model, starts from the chief's weights, and applies the same update in
every step, so the models stay equal. The sums are made by `tf.distribute.MultiWorkerMirroredStrategy`, but no model is
made in its scope; `tfnmt.training.keras_internals` says why.
"""

import contextlib
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import keras
import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.signals import keep_handlers
from tfnmt.training import loopback
from tfnmt.training.rendezvous import meeting
from tfnmt.training.replicas import Replicas, seed_states, slice_of

TF_CONFIG = "TF_CONFIG"
CONNECTS_WITHIN = 300
"""Seconds in which all workers must have started, and then have connected."""

Value = TypeVar("Value")


class Cluster(NamedTuple):
    """The workers and which of them this process is."""

    addresses: list[str]
    """"host:port" of each worker, the chief's first."""
    task: int


def read_cluster() -> Cluster:
    """The cluster that TF_CONFIG describes.

    Raises:
        UserError: it is not set, no JSON, or does not name workers by host and port and one of them as this process.
    """
    text = os.environ.get(TF_CONFIG)
    if not text:
        raise UserError(f"--strategy multiworker: {TF_CONFIG} is not set; set it for every worker, or give --workers N")
    try:
        values = json.loads(text)
    except ValueError as error:
        raise UserError(f"{TF_CONFIG}: is not valid JSON ({error})") from None
    try:
        jobs, task = values["cluster"], values["task"]
        addresses = [*jobs.get("chief", []), *jobs["worker"]]
        index = int(task["index"]) + (len(jobs.get("chief", [])) if task["type"] == "worker" else 0)
        known = 0 <= index < len(addresses) and task["type"] in ("chief", "worker")
        ports = [int(address.rpartition(":")[2]) for address in addresses]
    except (KeyError, TypeError, ValueError, AttributeError):
        known, ports = False, []
    if not known or not all(0 < port < 2**16 for port in ports):
        raise UserError(
            f'{TF_CONFIG}: {text}: should be {{"cluster": {{"worker": ["HOST:PORT", ...]}}, "task": {{"type": "worker",'
            ' "index": N}}, with N from 0'
        )
    return Cluster(addresses, index)


class Workers(Replicas):
    """Replicas in several processes, one device each.

    Args:
        cluster: the workers; the strategy reads TF_CONFIG by itself.

    Raises:
        UserError: a worker does not answer within `CONNECTS_WITHIN` seconds.
    """

    def __init__(self, cluster: Cluster):
        self.addresses, self.index = cluster
        self.number = self.processes = len(self.addresses)
        self.is_chief = self.index == 0
        gpus = tf.config.list_physical_devices("GPU")
        if gpus:  # a worker has one device: on a machine with several, start one worker for each
            tf.config.set_visible_devices(gpus[self.index % len(gpus)], "GPU")
        host, _, port = self.addresses[self.index].rpartition(":")
        guard = loopback.only_from_loopback(int(port)) if loopback.is_loopback(host) else contextlib.nullcontext()
        # TensorFlow sets a handler of SIGTERM that does nothing but note it.
        with (
            meeting(self.addresses, self.index, CONNECTS_WITHIN),
            keep_handlers(),  # before the others: within it, threads are started
            guard,
            _time_limit(CONNECTS_WITHIN, f"the workers {', '.join(self.addresses)} do not connect"),
        ):
            self.strategy = tf.distribute.MultiWorkerMirroredStrategy()
        self._summed = tf.function(self.sum, autograph=False, reduce_retracing=True)
        if not self.is_chief:
            logging.getLogger("tfnmt").setLevel(logging.WARNING)

    def divide(self, batches: tf.data.Dataset, select: Callable[..., Any]) -> tf.data.Dataset:
        """See `Replicas`."""
        return batches.map(lambda *batch: slice_of(batch, self.number, self.index, select))

    def sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """See `Replicas`."""

        def in_replica(tensors):
            values = [tf.identity(tensor) for tensor in tensors]  # which puts them on this worker's device
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, values)

        return self.strategy.run(in_replica, args=(tensors,))

    sum_of_processes = sum

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """See `Replicas`."""
        try:
            yield
        except (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError) as error:
            raise WorkerLostError(
                "another worker has ended, or cannot be reached; --resume goes on from the last checkpoint"
            ) from error

    def from_chief(self, make: Callable[[], Value]) -> Value:
        """See `Replicas`."""
        value: Any = None
        message = b""
        if self.is_chief:
            try:
                value = make()
                message = json.dumps({"value": value}).encode()
            except UserError as error:
                message = json.dumps({"error": str(error)}).encode()
        length = self.agree(len(message))
        padded = message.ljust(length, b" ") if self.is_chief else bytes(length)
        with self.errors():
            (sent,) = self._summed([tf.constant(list(padded), tf.int32)])
        answer = json.loads(bytes(sent.numpy().tolist()))
        if "error" in answer:
            raise UserError(answer["error"])
        return value if self.is_chief else answer["value"]

    def agree(self, number: int) -> int:
        """See `Replicas`."""
        with self.errors():
            numbers = [number if index == self.index else 0 for index in range(self.number)]
            return int(max(self._summed([tf.constant(numbers, tf.int32)])[0].numpy()))

    def share(self, variables: list[Any]) -> None:
        """See `Replicas`."""
        with self.errors():
            for dtype in {variable.dtype for variable in variables}:
                of_dtype = [variable for variable in variables if variable.dtype == dtype]
                own = [tf.identity(variable) if self.is_chief else tf.zeros_like(variable) for variable in of_dtype]
                for variable, of_chief in zip(of_dtype, self._summed(own), strict=True):
                    variable.assign(of_chief)

    def separate_seeds(self, model: keras.Model) -> None:
        """See `Replicas`."""
        for state in seed_states(model):
            state.assign(state.value + [self.index, 0])


class WorkerLostError(UserError):
    """Another worker has ended, so this one ends too."""


@contextlib.contextmanager
def _time_limit(seconds: float, message: str) -> Iterator[None]:
    """End the process with a line and status 2 if what is done within takes longer: C++ cannot be interrupted."""

    def end() -> None:
        os.write(2, f"error: {message} within {seconds:.0f} s\n".encode())
        os._exit(2)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
