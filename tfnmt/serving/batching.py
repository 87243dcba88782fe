"""Requests that come at about the same time are computed as one batch."""

import asyncio
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tfnmt.serving.requests import invalid, unavailable


@dataclass(frozen=True)
class BatchingOptions:
    """When a batch is full, and when it has waited long enough."""

    max_batch_size: int = 32
    """Rows of one batch at most; a larger request is cut into several."""
    wait_seconds: float = 0.005
    """How long the first request of a batch waits for others."""
    threads: int = 2
    """Batches computed at once."""
    max_waiting_batches: int = 64
    """More than so many full batches of rows do not wait: requests are refused."""


@dataclass
class _Waiting:
    inputs: dict[str, np.ndarray]
    rows: int
    answer: asyncio.Future
    since: float


class Batcher:
    """The queue of one signature of one version. All of it runs in the event loop, but for `run`.

    Args:
        run: from a dictionary of arrays [rows, ...] to one of arrays [rows, ...]; called in threads.
        executor: whose threads.
        options: `BatchingOptions`.
        observe: called with the rows of every batch.
    """

    def __init__(self, run, executor, options, observe):
        self._run = run
        self._executor = executor
        self._options = options
        self._observe = observe
        self._queue = []
        self._running = set()
        self._timer = None

    @property
    def waiting_rows(self):
        return sum(request.rows for request in self._queue)

    async def submit(self, inputs, rows):
        """Outputs for inputs: dictionaries of arrays [rows, ...].

        Raises:
            RequestError: the model cannot compute these inputs, or too many are waiting.
        """
        most = self._options.max_batch_size
        if self.waiting_rows + rows > max(rows, most * self._options.max_waiting_batches):
            raise unavailable("The batch scheduling queue to which this task was submitted is full")
        starts = range(0, max(rows, 1), most)
        pieces = [{name: x[first : first + most] for name, x in inputs.items()} for first in starts]
        answers = [self._enqueue(piece, min(most, rows - first)) for piece, first in zip(pieces, starts, strict=True)]
        return _joined(await asyncio.gather(*answers))

    def _enqueue(self, inputs, rows):
        loop = asyncio.get_running_loop()
        request = _Waiting(inputs, rows, loop.create_future(), loop.time())
        self._queue.append(request)
        self._start_what_is_due()
        return request.answer

    def _start_what_is_due(self):
        loop = asyncio.get_running_loop()
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self._queue = [request for request in self._queue if not request.answer.done()]  # callers that gave up
        while self._queue and len(self._running) < self._options.threads:
            due = self._queue[0].since + self._options.wait_seconds
            if self.waiting_rows < self._options.max_batch_size and loop.time() < due:
                self._timer = loop.call_at(due, self._start_what_is_due)
                return
            task = loop.create_task(self._compute(self._next_batch()))
            self._running.add(task)
            task.add_done_callback(self._finished)

    def _finished(self, task):
        self._running.discard(task)
        self._start_what_is_due()

    def _next_batch(self):
        """The requests that waited longest, as many as fit."""
        count, rows = 0, 0
        while count < len(self._queue) and rows + self._queue[count].rows <= self._options.max_batch_size:
            rows += self._queue[count].rows
            count += 1
        batch, self._queue = self._queue[:count], self._queue[count:]
        return batch

    async def _compute(self, batch):
        self._observe(sum(request.rows for request in batch))
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._executor, self._answers, batch)
        except Exception as error:  # whatever it is, who asked gets an answer
            if len(batch) > 1:  # which of them was it?
                for request in batch:
                    await self._compute([request])
                return
            answers = [_as_request_error(error)]
        for request, answer in zip(batch, answers, strict=True):
            if request.answer.done():
                continue
            if isinstance(answer, Exception):
                request.answer.set_exception(answer)
            else:
                request.answer.set_result(answer)

    def _answers(self, batch):
        """Compute a batch; in a thread. Returns the outputs of each of its requests."""
        names = batch[0].inputs
        outputs = self._run({name: np.concatenate([request.inputs[name] for request in batch]) for name in names})
        ends = np.cumsum([request.rows for request in batch])
        return [
            {name: x[end - request.rows : end] for name, x in outputs.items()}
            for request, end in zip(batch, ends, strict=True)
        ]


def _as_request_error(error):
    """What TensorFlow says about inputs is for whoever sent them; anything else is a bug of this server's."""
    if isinstance(error, tf.errors.InvalidArgumentError):
        around = ("Graph execution error", "Detected at node", "<stack traces", "[[")
        lines = (line.strip() for line in error.message.splitlines())
        return invalid(next(line for line in (*lines, "invalid argument") if line and not line.startswith(around)))
    return error


def _joined(parts: list[dict[str, Any]]):
    """The outputs of several batches one after the other, padded to the same width."""
    if len(parts) == 1:
        return parts[0]
    return {name: _concatenated([part[name] for part in parts]) for name in parts[0]}


def _concatenated(arrays):
    widest = np.max([x.shape[1:] for x in arrays], axis=0).astype(int)
    filler = b"" if arrays[0].dtype == object else 0
    padded = [
        np.pad(x, [(0, 0), *((0, wide - width) for wide, width in zip(widest, x.shape[1:], strict=True))],
               constant_values=filler)
        for x in arrays
    ]  # fmt: skip
    return np.concatenate(padded)
