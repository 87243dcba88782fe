"""What a model says of texts before it computes with them: how many tokens they have, and whether it can read them.

So a text that cannot be read never gets into a batch, where it would fail the requests of others.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor

import numpy as np
import tensorflow as tf

from tfnmt.serving.batching import Arrays, Batcher
from tfnmt.serving.options import BatchingOptions
from tfnmt.serving.requests import invalid

_ROWS = 1024
"""In one batch of checks, which take far less time than what they precede."""


class Checks:
    """The checks of a loaded model; see `tfnmt.serving.export.Servable.checks`.

    Args:
        functions: {signature: {input: function}}; empty for a model without checks, whose texts have as many tokens as
            words.
        executor: the threads that they run in, apart from those that compute, so that they never wait for a batch.
        options: of the batches that the texts are checked for: as many rows may wait here as may wait there.
    """

    def __init__(self, functions: Mapping[str, Mapping[str, Callable]], executor: Executor, options: BatchingOptions):
        self._executor = executor
        rows = options.max_batch_size * options.max_enqueued_batches
        # Checks that come while one runs are the next batch.
        self._options = BatchingOptions(_ROWS, wait_seconds=0.0, threads=1, max_enqueued_batches=-(-rows // _ROWS))
        self._batchers: dict[Callable, Batcher] = {}
        self._of_inputs = {
            signature: {name: self._batcher(function) for name, function in of_inputs.items()}
            for signature, of_inputs in functions.items()
        }

    async def tokens(self, signature: str, inputs: Arrays) -> dict[str, np.ndarray]:
        """How many tokens each text has: int [rows] by input.

        Args:
            signature: its name.
            inputs: arrays of bytes [rows] by name.

        Raises:
            RequestError: a text cannot be read; names it.
        """
        batchers = self._of_inputs.get(signature)
        if batchers is None:
            return {name: np.array([len(text.split()) for text in texts], int) for name, texts in inputs.items()}
        found = await asyncio.gather(
            *(batchers[name].submit({"text": texts}, len(texts)) for name, texts in inputs.items())
        )
        for name, outputs in zip(inputs, found, strict=True):
            for row, problem in enumerate(outputs["problem"]):
                if problem:
                    raise invalid(f"input {name!r}, row {row}: {problem.decode('utf-8', 'replace')}")
        return {name: outputs["tokens"] for name, outputs in zip(inputs, found, strict=True)}

    def _batcher(self, function):
        """One for each function, which several inputs may share."""

        def run(inputs):
            return {name: value.numpy() for name, value in function(tf.constant(inputs["text"], tf.string)).items()}

        return self._batchers.setdefault(function, Batcher(run, self._executor, self._options, lambda rows: None))
