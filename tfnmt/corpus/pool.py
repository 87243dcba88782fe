"""Processes that work on shards, each with the model loaded: replicas, which Ray starts and starts again."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any

from tfnmt.corpus.shards import Result, Shard
from tfnmt.corpus.tasks import Task, Work
from tfnmt.errors import UserError

_RETRIES = 3
"""Times that a shard is given out again after the process that worked on it has died."""
_SHARDS_AHEAD = 2
"""Shards that a replica is given at once: while it works on one, the next is on its way."""


class Replica:
    """A process that works on shards.

    Args:
        task: what it does; the model is loaded with the first shard.
        threads: of TensorFlow.
    """

    def __init__(self, task: Task, threads: int):
        self.task, self.threads = task, threads

    @cached_property
    def work(self) -> Work:
        """The task with its model loaded."""
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(self.threads)
        tf.config.threading.set_inter_op_parallelism_threads(self.threads)
        return self.task.load()

    def do(self, shard: Shard) -> Result:
        """What is written for a shard."""
        return self.work.do(shard)


def finished(
    ray: ModuleType, task: Task, shards: Iterable[Shard], replicas: int | None, threads: int
) -> Iterator[Result]:
    """Give shards to replicas.

    Args:
        ray: the module, connected to a cluster.
        task: what is done.
        shards: read as they are needed.
        replicas: how many processes; None for one on each GPU or, where there is none, as many as there is room for.
        threads: of each, and as many processors of the cluster are set aside for it.

    Yields:
        What is written for each shard, in the order in which they are done.

    Raises:
        UserError: there is no room for so many replicas; one cannot load the model; or they die, again and again.
    """
    from ray.util import ActorPool

    on_gpu, room = room_for(ray.nodes(), threads)
    if room < (replicas or 1):
        raise UserError(
            f"--replicas {replicas or 1} --threads {threads}: there is room for {room} such processes"
            f" on the {'GPUs' if on_gpu else 'processors'} that Ray has: ask for less"
        )
    kind = ray.remote(num_cpus=threads, num_gpus=int(on_gpu), max_restarts=-1, max_task_retries=_RETRIES)(Replica)
    actors = [kind.remote(task, threads) for _ in range(replicas or room)]
    pool = ActorPool(actors * _SHARDS_AHEAD)
    try:
        for shard in shards:
            if not pool.has_free():
                yield pool.get_next_unordered()
            pool.submit(lambda actor, shard: actor.do.remote(shard), shard)
        while pool.has_next():
            yield pool.get_next_unordered()
    except ray.exceptions.RayActorError as error:
        raise UserError(
            f"the process that worked on a shard has died {_RETRIES + 1} times over it: has it enough memory? What is"
            " done stays done"
        ) from error


def room_for(nodes: Sequence[Mapping[str, Any]], threads: int) -> tuple[bool, int]:
    """Whether replicas run on GPUs, and for how many there is room.

    Args:
        nodes: what `ray.nodes()` gives.
        threads: processors that each takes, all on one node.
    """
    resources = [node["Resources"] for node in nodes if node["Alive"]]
    on_gpu = any(node.get("GPU") for node in resources)
    rooms = (min(node.get("CPU", 0) / threads, node.get("GPU", 0) if on_gpu else math.inf) for node in resources)
    return on_gpu, sum(map(math.floor, rooms))
