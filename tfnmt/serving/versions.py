"""One version of a model, loaded from its SavedModel."""

import copy
import json
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers its operations
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow.python.eager.context import eager_mode

from tfnmt.layers.int8 import LEVELS, require_int8
from tfnmt.serving.batching import Arrays, Batcher
from tfnmt.serving.checks import Checks
from tfnmt.serving.export import DESCRIPTION, EXTRAS
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import BatchingOptions
from tfnmt.serving.requests import Signature, check_texts, check_tokens, invalid
from tfnmt.serving.warm_up import warm_up_requests

DEFAULT_SIGNATURE = "serving_default"


class Version:
    """A loaded version with a batching queue for each signature. Loading runs its warm-up requests.

    Args:
        path: of the version's folder.
        executor: the threads that compute.
        checking: the thread that checks texts first, see `Checks`.
        options: `BatchingOptions`.
        limits: `Limits`, of which those of requests count here.
        observe_batch: called with the number of rows of every batch.
        observe_seconds: called with the time that every batch takes to compute.

    Raises:
        ValueError: an input of a signature is not string [rows].
        UserError: it multiplies in int8, and this machine cannot.
        OSError, ValueError, tf.errors.OpError and whatever else a broken SavedModel makes TensorFlow raise.
    """

    def __init__(
        self,
        path: str | Path,
        executor: Executor,
        checking: Executor,
        options: BatchingOptions,
        limits: Limits,
        observe_batch: Callable[[int], None],
        observe_seconds: Callable[[float], None],
    ):
        self.path = Path(path)
        self._observe_seconds = observe_seconds
        self.number = int(self.path.name)
        definitions = _read_signatures(self.path / "saved_model.pb")
        description = _read_description(self.path / EXTRAS / DESCRIPTION)
        if description.get("search", {}).get("precision") == "int8":
            require_int8(description.get("int8_levels", LEVELS))
        described = description.get("limits", {})
        self.signatures = {
            name: Signature(name, definition, limits.of_request(described.get(name, {})))
            for name, definition in definitions.items()
        }
        loaded = tf.saved_model.load(str(self.path))
        self._functions = loaded.signatures
        weakref.finalize(self, _destroy, _tables(loaded.signatures.values())).atexit = False
        self._checks = Checks(getattr(loaded, "checks", {}), checking, options)
        for name, inputs in warm_up_requests(self.path, self.signature):
            self._run(name, inputs)
        self._batchers = {
            name: Batcher(self._observed(name), executor, options, observe_batch) for name in self.signatures
        }

    @property
    def waiting_rows(self) -> int:
        return sum(batcher.waiting_rows for batcher in self._batchers.values())

    def signature(self, name: str) -> Signature:
        """The signature of that name; "" is the default one.

        Raises:
            RequestError: there is none of that name.
        """
        name = name or DEFAULT_SIGNATURE
        if name not in self.signatures:
            known = ", ".join(self.signatures)
            raise invalid(f'Serving signature name: "{name}" not found in signature def; there are {known}')
        return self.signatures[name]

    async def compute(self, signature: Signature, inputs: Arrays) -> Arrays:
        """Outputs of a signature.

        Raises:
            RequestError: the model cannot read a text, the request has too many tokens, or the queue is full.
        """
        check_texts(inputs)
        batcher = self._batchers[signature.name]
        with batcher.coming():
            tokens = await self._checks.tokens(signature.name, inputs)
            check_tokens(tokens, signature.limits)
        longest = np.max(list(tokens.values()), axis=0)
        return await batcher.submit(inputs, len(longest), longest)

    def _run(self, name, inputs):
        outputs = self._functions[name](**{key: tf.constant(texts, tf.string) for key, texts in inputs.items()})
        return {key: x.numpy() for key, x in outputs.items()}

    def _observed(self, name):
        def run(inputs):
            start = time.perf_counter()
            arrays = self._run(name, inputs)
            self._observe_seconds(time.perf_counter() - start)
            return arrays

        return run


def _tables(functions: Iterable) -> list[tf.Tensor]:
    """Handles of the tables and tokenizers that the functions of a loaded model use."""
    captured = {id(tensor): tensor for function in functions for tensor in function.captured_inputs}
    variables = {id(variable.handle) for function in functions for variable in function.variables}
    return [tensor for key, tensor in captured.items() if tensor.dtype == tf.resource and key not in variables]


def _destroy(tables: Iterable[tf.Tensor]) -> None:
    """Free them: TensorFlow frees the variables of a model that nothing refers to any more, but never these."""
    with eager_mode():  # Python may collect its garbage while a graph is built, and call this there
        for table in tables:
            tf.raw_ops.DestroyResourceOp(resource=table, ignore_lookup_error=True)


def _read_description(path):
    """What `tfnmt.serving.export` says of a model; nothing of models made elsewhere."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _read_signatures(path):
    """{name: `SignatureDef`} of a saved_model.pb."""
    try:
        saved = SavedModel.FromString(path.read_bytes())
    except DecodeError as error:
        raise ValueError("saved_model.pb is cut short or no SavedModel") from error
    if not saved.meta_graphs:
        raise ValueError("saved_model.pb is empty")
    definitions = saved.meta_graphs[0].signature_def
    # Copies: a part of a message keeps all of it in memory, here the graph.
    signatures = {name: copy.deepcopy(definitions[name]) for name in sorted(definitions) if not name.startswith("__")}
    for name, definition in signatures.items():
        for key, info in definition.inputs.items():
            dtype, shape = tf.as_dtype(info.dtype), tf.TensorShape(info.tensor_shape)
            if dtype != tf.string or shape.rank != 1:
                raise ValueError(f"signature {name}: input {key} is {dtype.name} {shape}; only string [rows] is served")
    return signatures
