"""A model is a directory: config.json, its tokenizers, its weights. One call saves it, one call loads it."""

import io
import json
from pathlib import Path

from tfnmt.configuration import from_json, to_json
from tfnmt.errors import UserError
from tfnmt.models.configuration import TranslatorConfiguration
from tfnmt.models.translator import Translator
from tfnmt.text.tokenizers import load_tokenizer
from tfnmt.training.files import saving, written_whole

CONFIGURATION, WEIGHTS = "config.json", "model.weights.h5"


def save_tokenizers(model, directory):
    """Write a model's tokenizers; the directory is made if need be."""
    directory = Path(directory)
    with saving(directory):
        directory.mkdir(parents=True, exist_ok=True)
        model.source_tokenizer.save(directory, "source")
        model.target_tokenizer.save(directory, "target")


def save_configuration(model, directory, **more):
    """Write config.json: a model's configuration and `more` (dataclasses), by name."""
    description = {"model": to_json(model.configuration)} | {name: to_json(value) for name, value in more.items()}
    with written_whole(Path(directory, CONFIGURATION)) as part:
        part.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")


def save_weights(model, directory):
    """Write a model's weights in place of those in the directory."""
    file = _InMemory()  # HDF5 takes the whole process with it when it writes to a disk that is full
    model.save_weights(file)
    with written_whole(Path(directory, WEIGHTS)) as part:
        part.write_bytes(file.getbuffer())


class _InMemory(io.BytesIO):
    def __str__(self):
        return WEIGHTS  # Keras looks at the end of the name


def read_configuration(directory, **classes):
    """The configurations that config.json keeps under the names given, each a dataclass of the class given.

    Raises:
        UserError: config.json is missing or broken.
    """
    path = Path(directory, CONFIGURATION)
    if not Path(directory).is_dir():
        raise UserError(f"{directory}: there is no such model directory")
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}): is {directory} a model directory?") from error
    except ValueError as error:
        raise UserError(f"{path}: is broken ({error}); train the model again") from error
    for name in classes:
        if not isinstance(description, dict) or name not in description:
            raise UserError(f"{path}: the key {name!r} is missing; train the model again")
    return {name: from_json(cls, description[name], path) for name, cls in classes.items()}


def load(directory):
    """The model in a directory, as training left it: the weights with the best dev score.

    Raises:
        UserError: a file is missing, broken or cut short; names it.
    """
    configuration = read_configuration(directory, model=TranslatorConfiguration)["model"]
    model = Translator(configuration, load_tokenizer(directory, "source"), load_tokenizer(directory, "target"))
    load_weights(model, directory)
    return model


def load_weights(model, directory):
    """Give a model the weights in a directory.

    Raises:
        UserError: they are missing, broken or of another model.
    """
    path = Path(directory, WEIGHTS)
    if not path.exists():
        raise UserError(f"{path}: is missing: the training has not scored its first epoch; --resume goes on with it")
    try:
        model.load_weights(path)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"{path}: is broken, cut short or of another model ({reason}); --resume writes it anew at a better score"
        ) from error
