"""A trained model as one SavedModel, from text to text, that TensorFlow Serving runs as it is."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import tensorflow as tf
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.servable import ClassifierServable
from tfnmt.configuration import require, to_json
from tfnmt.errors import UserError
from tfnmt.quantization import PRECISIONS
from tfnmt.serving.files import register, valid_name, version_numbers
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.servable import TranslatorServable

DESCRIPTION, WARM_UP = "tfnmt.json", "tf_serving_warmup_requests"


def export(models, output, name, search=None, quantize="none", shortlist=None):
    """Write models as the next version of a servable: OUTPUT/NAME/VERSION, complete or not at all.

    Beside it stands what runs it: models.config, which gets to know NAME, batching.config, monitoring.config and
    compose.yaml.

    Args:
        models: a list of `Translator`s with the same tokenizers, of which several are an ensemble, or of one
            `Classifier`.
        output: the folder of all servables.
        name: letters, digits, "_", "-" and ".".
        search: a `SearchConfiguration`, fixed for good; by default a beam of 5 that gives its best 5. It means nothing
            to a classifier.
        quantize: the weights' precision, see `StoredWeights`.
        shortlist: a `Shortlist` of a translator, or None for all words.

    Returns:
        The version's path.

    Raises:
        UserError: a name that cannot be a folder's, models that do not go together, or a folder that cannot be written.
    """
    search = search or SearchConfiguration(n_best=5)
    require(quantize in PRECISIONS, "quantize", quantize, "one of " + ", ".join(PRECISIONS))
    valid_name(name)
    servable = servable_of(models, search, quantize, shortlist)
    options = {"quantize": quantize, "models": len(models)}
    if servable.kind == "translator":
        options["search"] = to_json(search)
    return write_version(servable, options, output, name)


def servable_of(models, search, precision="none", shortlist=None):
    """The servable for models of either kind.

    Raises:
        UserError: they do not go together.
    """
    if not isinstance(models[0], Classifier):
        for number, model in enumerate(models, start=1):
            if isinstance(model, Classifier):
                raise UserError(f"model {number} is a classifier: an ensemble is of translators")
        return TranslatorServable(models, search, precision, shortlist)
    if len(models) > 1:
        raise UserError("model 1 is a classifier: an ensemble is of translators")
    return ClassifierServable(models[0], precision)


def write_version(servable, options, output, name):
    """Write a servable, and the options it was made with, as the next version of its name; see `export`."""
    folder = Path(output, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
        try:
            aside.chmod(0o755)
            signatures = {key: function.get_concrete_function() for key, function in servable.served.items()}
            # Without gradients: nobody trains what is served.
            plain = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
            tf.saved_model.save(servable, str(aside), signatures=signatures, options=plain)
            _write_extras(aside / "assets.extra", name, servable, options)
            path = _renamed(aside, folder)
        except BaseException:  # an interrupt too leaves no half of a version behind
            shutil.rmtree(aside, ignore_errors=True)
            raise
        register(output, name)
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be written ({os.strerror(error.errno)})") from error
    except tf.errors.OpError as error:
        raise UserError(f"{folder}: cannot be written ({error.message.splitlines()[0]})") from error
    return path


def _renamed(aside, folder):
    """Give a finished folder the next free version number."""
    while True:
        path = folder / str(max(version_numbers(folder), default=0) + 1)
        try:
            os.rename(aside, path)
        except OSError:
            if not path.exists():  # another export took that number
                raise
        else:
            return path


def _write_extras(directory, name, servable, options):
    """The description and the warm-up requests, which TensorFlow Serving runs before a version takes traffic."""
    directory.mkdir()
    description = {"kind": servable.kind, **options, "signatures": servable.documentation}
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
