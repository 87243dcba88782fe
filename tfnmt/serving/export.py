"""A servable as one SavedModel, from text to text, as TensorFlow Serving runs them."""

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tfnmt.errors import UserError
from tfnmt.serving.files import MODELS, check_name, read_models, register, version_numbers
from tfnmt.serving.smaller_graphs import make_graphs_smaller

EXTRAS = "assets.extra"
DESCRIPTION, WARM_UP = "tfnmt.json", "tf_serving_warmup_requests"


class Servable(Protocol):
    """A `tf.Module` that holds all it computes with: weights, tokenizers, tables."""

    kind: str
    """What it is, such as "translator"."""
    options: Mapping[str, Any]
    """What it was made with, as JSON."""
    functions: Mapping[str, tf.types.experimental.PolymorphicFunction]
    """The `tf.function` of each signature, over string tensors [batch], with an `input_signature`."""
    documentation: Mapping[str, Mapping[str, Mapping[str, str]]]
    """{signature: {"inputs": {name: text}, "outputs": {name: text}}}."""
    checks: Mapping[str, Mapping[str, tf.types.experimental.PolymorphicFunction]]
    """{signature: {input: function}}: what a server asks before it computes. From texts, string [batch], to "tokens"
    int32 [batch], how many the model reads of each, and "problem" string [batch], why it cannot be read, or nothing."""
    limits: Mapping[str, Mapping[str, int]]
    """{signature: {limit: value}}: what one request may hold at most, see `tfnmt.serving.limits.RequestLimits`."""
    variables: Sequence[tf.Variable]
    """The weights."""
    examples: Sequence[Sequence[str]]
    """Batches of texts that any input takes, for the warm-up requests."""


def export(servable: Servable, output: str | Path, name: str) -> Path:
    """Write a servable as the next version of a model: OUTPUT/NAME/VERSION, complete or not at all.

    Beside it are the files that a server is started with: models.config, which lists NAME from now on, batching.config,
    monitoring.config and compose.yaml.

    Args:
        servable: see `Servable`.
        output: the folder of all servables.
        name: of the model: letters, digits, "_", "-" and ".".

    Returns:
        The version's path.

    Raises:
        UserError: the name cannot be a folder's, models.config is broken, or the folder cannot be written.
    """
    check_name(name)
    if Path(output, MODELS).exists():
        read_models(output)  # before the work: if it is broken, NAME could not be listed in the end
    folder = Path(output, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
        try:
            temporary.chmod(0o755)
            signatures = {key: function.get_concrete_function() for key, function in servable.functions.items()}
            options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)  # nobody trains it further
            tf.saved_model.save(servable, str(temporary), signatures=signatures, options=options)
            make_graphs_smaller(temporary)
            _write_extras(temporary / EXTRAS, name, servable)
            path = _rename_to_next_version(temporary, folder)
        except BaseException:  # an interrupt too leaves no incomplete version behind
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        register(output, name)
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error
    except tf.errors.OpError as error:
        raise UserError(f"{folder}: cannot be written ({error.message.splitlines()[0]})") from error
    return path


def _rename_to_next_version(temporary, folder):
    for number in itertools.count(max(version_numbers(folder), default=0) + 1):
        path = folder / str(number)
        try:
            os.rename(temporary, path)
        except OSError:
            if not os.path.lexists(path):  # else another export took that number, or a file has it
                raise
        else:
            return path


def _write_extras(directory, name, servable):
    """The description, and the warm-up requests, which TensorFlow Serving runs before a version takes traffic."""
    directory.mkdir()
    description = {
        "kind": servable.kind,
        **servable.options,
        "limits": servable.limits,
        "signatures": servable.documentation,
    }
    text = json.dumps(description, indent=2, ensure_ascii=False)
    (directory / DESCRIPTION).write_text(text + "\n", encoding="utf-8")
    with tf.io.TFRecordWriter(str(directory / WARM_UP)) as writer:
        for signature, documentation in servable.documentation.items():
            for texts in servable.examples:
                log = PredictionLog()
                request = log.predict_log.request
                request.model_spec.name, request.model_spec.signature_name = name, signature
                for key in documentation["inputs"]:
                    request.inputs[key].CopyFrom(tf.make_tensor_proto(texts, tf.string))
                writer.write(log.SerializeToString())
