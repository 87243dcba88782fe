"""A model is a directory: config.json, its tokenizers, its weights. One call saves it, one call loads it."""

import json
from pathlib import Path

from tfnmt.configuration import from_json, to_json
from tfnmt.errors import UserError
from tfnmt.models.configuration import TranslatorConfiguration
from tfnmt.models.translator import Translator
from tfnmt.text.tokenizers import load_tokenizer
from tfnmt.training.files import saving, written_whole

CONFIGURATION, WEIGHTS = "config.json", "model.weights.h5"


def save_description(model, directory, **more):
    """Write everything of a model but its weights: config.json and the tokenizers.

    Args:
        model: a `Translator`.
        directory: made if need be.
        more: further configurations (dataclasses) to be kept in config.json, by name.
    """
    directory = Path(directory)
    with saving(directory):
        directory.mkdir(parents=True, exist_ok=True)
        model.source_tokenizer.save(directory, "source")
        model.target_tokenizer.save(directory, "target")
    description = {"model": to_json(model.configuration)} | {name: to_json(value) for name, value in more.items()}
    with written_whole(directory / CONFIGURATION) as part:
        part.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")


def save_weights(model, directory):
    """Write a model's weights in place of those in the directory."""
    with written_whole(Path(directory, WEIGHTS)) as part:
        model.save_weights(part)


def read_description(directory):
    """What config.json holds, as plain values.

    Raises:
        UserError: it is missing or broken.
    """
    path = Path(directory, CONFIGURATION)
    if not Path(directory).is_dir():
        raise UserError(f"{directory}: there is no such model directory")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}): is {directory} a model directory?") from error
    except ValueError as error:
        raise UserError(f"{path}: is broken ({error}); train the model again") from error


def load(directory):
    """The model in a directory, as training left it: the weights with the best dev score.

    Raises:
        UserError: a file is missing, broken or cut short; names it.
    """
    description = read_description(directory)
    if "model" not in description:
        raise UserError(f"{Path(directory, CONFIGURATION)}: the key 'model' is missing; train the model again")
    configuration = from_json(TranslatorConfiguration, description["model"], Path(directory, CONFIGURATION))
    model = Translator(configuration, load_tokenizer(directory, "source"), load_tokenizer(directory, "target"))
    path = Path(directory, WEIGHTS)
    if not path.exists():
        raise UserError(f"{path}: is missing: the training has not scored its first epoch; --resume goes on with it")
    try:
        model.load_weights(path)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"{path}: is broken or cut short ({reason}); --resume writes it anew at a better score"
        ) from error
    return model
