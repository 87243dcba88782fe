"""Requests that come at about the same time are computed as one batch."""

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import tensorflow as tf

from tfnmt.serving.options import BatchingOptions
from tfnmt.serving.requests import RequestError, failed_precondition, invalid, unavailable

Arrays = dict[str, np.ndarray]
"""Inputs or outputs of a signature by name; the first dimension of each counts the rows."""


@dataclass
class _Task:
    """A request in the queue, or a piece of a large one."""

    inputs: Arrays
    rows: int
    longest: int  # tokens of its longest text
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
        self._coming = {}  # key → when it arrived, the oldest first
        self._running = set()
        self._timer = None

    @property
    def waiting_rows(self) -> int:
        """Rows in the queue, without those whose clients have gone."""
        return sum(task.rows for task in self._queue if not task.outputs.done())

    @contextlib.contextmanager
    def coming(self) -> Iterator[None]:
        """A request that will be submitted right after this, or refused, has arrived: the batch that collects requests
        by now waits for it, also beyond the time that it waits for others."""
        key, loop = object(), asyncio.get_running_loop()
        self._coming[key] = loop.time()
        try:
            yield
        finally:
            del self._coming[key]
            loop.call_soon(self._start_due_batches)  # after it has been submitted

    async def submit(self, inputs: Arrays, rows: int, tokens: np.ndarray | None = None) -> Arrays:
        """The outputs for the inputs, both with `rows` rows.

        Args:
            inputs: of the signature.
            rows: how many.
            tokens: int [rows], those of the longest text of each row; None to count rows alone.

        Raises:
            RequestError: the model cannot compute these inputs, or the queue is full.
        """
        if self.waiting_rows + rows > max(rows, self._options.max_batch_size * self._options.max_enqueued_batches):
            raise unavailable("The batch scheduling queue to which this task was submitted is full")
        tokens = np.zeros(rows, int) if tokens is None else tokens
        if self._fits(rows, tokens.max(initial=0)):
            return await self._enqueue(inputs, tokens)
        pieces = self._split(tokens)
        futures = [self._enqueue({name: x[piece] for name, x in inputs.items()}, tokens[piece]) for piece in pieces]
        outputs = _concatenate(await asyncio.gather(*futures))
        places = np.argsort(np.concatenate(pieces))  # of each row, in the pieces one after the other
        return {name: x[places] for name, x in outputs.items()}

    def _fits(self, rows, longest):
        return rows <= self._options.max_batch_size and (rows == 1 or rows * longest <= self._options.max_batch_tokens)

    def _split(self, tokens):
        """Indices of rows, in pieces that fit, those of similar length together."""
        pieces = [[]]
        for row in np.argsort(tokens, kind="stable"):  # so the last one of a piece is the longest
            if not self._fits(len(pieces[-1]) + 1, tokens[row]):
                pieces.append([])
            pieces[-1].append(row)
        return pieces

    def _enqueue(self, inputs, tokens):
        loop = asyncio.get_running_loop()
        task = _Task(inputs, len(tokens), tokens.max(initial=0), loop.create_future(), loop.time())
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
            if self.waiting_rows < self._options.max_batch_size:
                if loop.time() < due:
                    self._timer = loop.call_at(due, self._start_due_batches)
                    return
                if min(self._coming.values(), default=due) < due:
                    return
            running = loop.create_task(self._compute(self._next_batch()))
            self._running.add(running)
            running.add_done_callback(self._finish)

    def _finish(self, running):
        self._running.discard(running)
        self._start_due_batches()

    def _next_batch(self):
        """The oldest task, and of the others those that fit beside it."""
        batch, others = self._queue[:1], []
        rows, longest = batch[0].rows, batch[0].longest
        for task in self._queue[1:]:
            if self._fits(rows + task.rows, max(longest, task.longest)):
                batch.append(task)
                rows, longest = rows + task.rows, max(longest, task.longest)
            else:
                others.append(task)
        self._queue = others
        return batch

    async def _compute(self, batch):
        self._observe(sum(task.rows for task in batch))
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(self._executor, self._run_batch, batch)
        except RequestError as error:
            results = [error] * len(batch)
        except Exception as error:  # of any type: the clients wait for an answer
            if len(batch) > 1:  # one of them is at fault
                await self._compute(batch[: len(batch) // 2])
                await self._compute(batch[len(batch) // 2 :])
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
        """The outputs of each task of a batch; called in a thread.

        Raises:
            RequestError: an output has another number of rows than the inputs, so that none belongs to anyone.
        """
        names = batch[0].inputs
        outputs = self._run({name: np.concatenate([task.inputs[name] for task in batch]) for name in names})
        bounds = np.cumsum([0, *(task.rows for task in batch)])
        for name, x in outputs.items():
            if np.shape(x)[:1] != (bounds[-1],):
                expected = f"expected {bounds[-1]} in its first dimension, as the inputs have"
                raise failed_precondition(f"the model's output {name!r} has shape {list(np.shape(x))}; {expected}")
        return [{name: x[start:end] for name, x in outputs.items()} for start, end in pairwise(bounds)]


def _as_request_error(error):
    """TensorFlow's complaint about the inputs is for the client; any other error is a fault of the server."""
    if isinstance(error, tf.errors.InvalidArgumentError):
        context = ("Graph execution error", "Detected at node", "<stack traces", "[[")
        lines = (line.strip() for line in error.message.splitlines())
        line = next(line for line in (*lines, "invalid argument") if line and not line.startswith(context))
        assertion = re.match(r"assertion failed: \[(.*?)\]( \[|$)", line)  # values that it compared may follow
        return invalid(assertion[1] if assertion else line)
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
