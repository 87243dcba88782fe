"""Requests that come at about the same time are computed as one batch."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import tensorflow as tf

from tfnmt.serving.options import BatchingOptions
from tfnmt.serving.requests import invalid, unavailable

Arrays = dict[str, np.ndarray]
"""Inputs or outputs of a signature by name; the first dimension of each counts the rows."""


@dataclass
class _Task:
    """A request in the queue, or a piece of a large one."""

    inputs: Arrays
    rows: int
    outputs: asyncio.Future
    enqueued: float


class Batcher:
    """The queue of one signature. All of it runs in the event loop, except `run`.

    Args:
        run: the signature's function; called in threads.
        executor: whose threads.
        options: `BatchingOptions`.
        observe: called with the number of rows of every batch.
    """

    def __init__(
        self,
        run: Callable[[Arrays], Arrays],
        executor: Executor,
        options: BatchingOptions,
        observe: Callable[[int], None],
    ):
        self._run = run
        self._executor = executor
        self._options = options
        self._observe = observe
        self._queue = []
        self._running = set()
        self._timer = None

    @property
    def waiting_rows(self) -> int:
        return sum(task.rows for task in self._queue)

    async def submit(self, inputs: Arrays, rows: int) -> Arrays:
        """The outputs for the inputs, both with `rows` rows.

        Raises:
            RequestError: the model cannot compute these inputs, or the queue is full.
        """
        size = self._options.max_batch_size
        if self.waiting_rows + rows > max(rows, size * self._options.max_enqueued_batches):
            raise unavailable("The batch scheduling queue to which this task was submitted is full")
        starts = range(0, max(rows, 1), size)
        pieces = [{name: x[start : start + size] for name, x in inputs.items()} for start in starts]
        futures = [self._enqueue(piece, min(size, rows - start)) for piece, start in zip(pieces, starts, strict=True)]
        return _concatenate(await asyncio.gather(*futures))

    def _enqueue(self, inputs, rows):
        loop = asyncio.get_running_loop()
        task = _Task(inputs, rows, loop.create_future(), loop.time())
        self._queue.append(task)
        self._start_due_batches()
        return task.outputs

    def _start_due_batches(self):
        loop = asyncio.get_running_loop()
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self._queue = [task for task in self._queue if not task.outputs.done()]  # the others' clients have gone
        while self._queue and len(self._running) < self._options.threads:
            due = self._queue[0].enqueued + self._options.wait_seconds
            if self.waiting_rows < self._options.max_batch_size and loop.time() < due:
                self._timer = loop.call_at(due, self._start_due_batches)
                return
            running = loop.create_task(self._compute(self._next_batch()))
            self._running.add(running)
            running.add_done_callback(self._finish)

    def _finish(self, running):
        self._running.discard(running)
        self._start_due_batches()

    def _next_batch(self):
        """The oldest tasks, as many as fit."""
        count, rows = 0, 0
        while count < len(self._queue) and rows + self._queue[count].rows <= self._options.max_batch_size:
            rows += self._queue[count].rows
            count += 1
        batch, self._queue = self._queue[:count], self._queue[count:]
        return batch

    async def _compute(self, batch):
        self._observe(sum(task.rows for task in batch))
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(self._executor, self._run_batch, batch)
        except Exception as error:  # of any type: the clients wait for an answer
            if len(batch) > 1:  # one of them is at fault: each alone
                for task in batch:
                    await self._compute([task])
                return
            results = [_as_request_error(error)]
        for task, result in zip(batch, results, strict=True):
            if task.outputs.done():
                continue
            if isinstance(result, Exception):
                task.outputs.set_exception(result)
            else:
                task.outputs.set_result(result)

    def _run_batch(self, batch):
        """The outputs of each task of a batch; called in a thread."""
        names = batch[0].inputs
        outputs = self._run({name: np.concatenate([task.inputs[name] for task in batch]) for name in names})
        bounds = np.cumsum([0, *(task.rows for task in batch)])
        return [{name: x[start:end] for name, x in outputs.items()} for start, end in pairwise(bounds)]


def _as_request_error(error):
    """TensorFlow's complaint about the inputs is for the client; any other error is a fault of the server."""
    if isinstance(error, tf.errors.InvalidArgumentError):
        context = ("Graph execution error", "Detected at node", "<stack traces", "[[")
        lines = (line.strip() for line in error.message.splitlines())
        return invalid(next(line for line in (*lines, "invalid argument") if line and not line.startswith(context)))
    return error


def _concatenate(outputs: list[Arrays]) -> Arrays:
    """The outputs of several batches as those of one, padded to the same width."""
    if len(outputs) == 1:
        return outputs[0]
    return {name: _concatenate_padded([each[name] for each in outputs]) for name in outputs[0]}


def _concatenate_padded(arrays):
    widest = np.max([x.shape[1:] for x in arrays], axis=0).astype(int)
    padding = b"" if arrays[0].dtype == object else 0
    padded = []
    for x in arrays:
        missing = [(0, wide - width) for wide, width in zip(widest, x.shape[1:], strict=True)]
        padded.append(np.pad(x, [(0, 0), *missing], constant_values=padding))
    return np.concatenate(padded)
