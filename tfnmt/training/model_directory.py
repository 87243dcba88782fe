"""A model is a directory: config.json, its tokenizers, its weights. One call saves it, one call loads it."""

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np

from tfnmt.configuration import Configuration, from_json
from tfnmt.errors import UserError
from tfnmt.files import file_errors
from tfnmt.text.tokenizers import load_tokenizer
from tfnmt.training.digests import check_digests, is_as_written, write_with_digest
from tfnmt.training.format_version import FORMAT, KEY, check_format

CONFIGURATION, WEIGHTS = "config.json", "model.weights.h5"
CHECKPOINTS, HISTORY = "checkpoints", "history.csv"


def save_tokenizers(model: keras.Model, directory: str | Path) -> None:
    """Write a model's tokenizers; the directory is made if need be."""
    directory = Path(directory)
    with file_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
    for name, tokenizer in zip(model.tokenizer_names, model.tokenizers, strict=True):
        for file, content in tokenizer.files(name).items():
            write_with_digest(directory / file, content)


def save_configuration(model: keras.Model, directory: str | Path, **more: Configuration) -> None:
    """Write config.json: the version of its format, a model's kind, its configuration and `more` ones, by name."""
    configurations = {"model": model.configuration} | more
    description = {KEY: FORMAT, "kind": model.kind}
    description |= {name: value.model_dump(mode="json") for name, value in configurations.items()}
    write_with_digest(Path(directory, CONFIGURATION), (json.dumps(description, indent=2) + "\n").encode())


def save_weights(model: keras.Model, directory: str | Path) -> None:
    """Write a model's weights, over those in the directory. The optimizer's state is in the checkpoints only."""
    write_with_digest(Path(directory, WEIGHTS), _weights_file(model).getbuffer())


def _weights_file(model):
    """What `save_weights` writes, in memory: HDF5 ends the whole process when it writes to a full disk."""
    file = _InMemory()
    with _without_optimizer(model):
        model.save_weights(file)
    return file


@contextlib.contextmanager
def _without_optimizer(model: keras.Model) -> Iterator[None]:
    """Within the block, Keras does not see the optimizer as a part of a compiled model."""
    optimizer = getattr(model, "optimizer", None)
    model.optimizer = None
    try:
        yield
    finally:
        model.optimizer = optimizer


class _InMemory(io.BytesIO):
    def __str__(self):
        return WEIGHTS  # Keras checks the extension


def model_files(directory: str | Path, tokenizer_names: tuple[str, ...]) -> tuple[str, ...]:
    """The files that decide what a model says: its configuration, its tokenizers of these names, its weights."""
    directory = Path(directory)
    tokenizers = sorted(path for name in tokenizer_names for path in directory.glob(f"{name}.*"))
    return tuple(str(path) for path in (directory / CONFIGURATION, *tokenizers, directory / WEIGHTS))


def read_configuration(directory: str | Path, **classes: type[Configuration]) -> dict[str, Any]:
    """The configurations in config.json under these names, each of the class given.

    Raises:
        UserError: config.json is missing or broken.
    """
    path, description = Path(directory, CONFIGURATION), _read_description(directory)
    for name in classes:
        if name not in description:
            raise UserError(f"{path}: the key {name!r} is missing; train the model again")
    return {name: from_json(cls, description[name], path) for name, cls in classes.items()}


def read_kind(directory: str | Path) -> str:
    """The kind of model in a directory, "translator" or "classifier".

    Raises:
        UserError: config.json is missing or broken.
    """
    kind = _read_description(directory).get("kind", "translator")
    if not isinstance(kind, str):
        raise UserError(f"{Path(directory, CONFIGURATION)}: kind={kind}: allowed is translator or classifier")
    return kind


def require_kind(directory: str | Path, kind: str) -> None:
    """Raise `UserError` if the model in a directory is not of this kind."""
    if (found := read_kind(directory)) != kind:
        raise UserError(f"{directory}: is a {found}, not a {kind}")


def _read_description(directory):
    path = Path(directory, CONFIGURATION)
    if not Path(directory).is_dir():
        if Path(directory).suffix == ".keras":
            raise UserError(f"{directory}: is not a model directory; keras.models.load_model loads it")
        raise UserError(f"{directory}: there is no such model directory; tfnmt models lists the models that are there")
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}): is {directory} a model directory?") from error
    except (ValueError, RecursionError) as error:
        check_digests(directory, WEIGHTS)  # if it was written otherwise, that is what is wrong
        raise UserError(f"{path}: is broken ({error}); train the model again") from error
    if not isinstance(description, dict):
        raise UserError(f"{path}: the key 'model' is missing; train the model again")
    check_format(description, path)
    return description


def load_model(cls: type[keras.Model], directory: str | Path) -> keras.Model:
    """The model of class `cls` in a directory, with the weights of the best dev score.

    Raises:
        UserError: a file is missing, broken, cut short or not as it was written, or the model is of another kind.
    """
    model = new_model(cls, directory)
    load_weights(model, directory)
    return model


def new_model(cls: type[keras.Model], directory: str | Path) -> keras.Model:
    """The model of class `cls` in a directory, with random weights; raises as `load_model`, but for its weights."""
    check_digests(directory, WEIGHTS)
    require_kind(directory, cls.kind)
    configuration = read_configuration(directory, model=cls.configuration_class)["model"]
    return cls(configuration, *(load_tokenizer(directory, name) for name in cls.tokenizer_names))


def load_weights(model: keras.Model, directory: str | Path) -> None:
    """Load the weights in a directory into a model.

    Raises:
        UserError: they are missing, broken, not as they were written, not finite, or of another model.
    """
    path = Path(directory, WEIGHTS)
    resume = f"tfnmt train-{model.kind} --resume {directory}"
    if not path.exists():
        scored = Path(directory, HISTORY).exists()
        why = "was removed" if scored else "is not there before the first epoch has been scored"
        raise UserError(f"{path}: {why}; {resume} goes on with the training")
    check_digests(directory)
    try:
        with _without_optimizer(model):
            model.load_weights(path)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"{path}: is broken, cut short or of another model ({reason}); {resume} writes it anew at a better score"
        ) from error
    if unknown := _variable_names(path) - _variable_names(_weights_file(model)):
        raise UserError(f"{path}: has {min(unknown)}, which is not part of the model that {CONFIGURATION} describes")
    if not all(np.isfinite(value).all() for value in model.get_weights()):
        raise UserError(f"{path}: a weight is not a finite number; train the model again")


def weights_problem(directory: str | Path) -> str | None:
    """What is wrong with the file of the weights in a directory, before it is loaded; None if nothing is."""
    path = Path(directory, WEIGHTS)
    if not path.exists():
        return "is missing"
    if not is_as_written(path):
        return "is not as it was written"
    try:
        h5py.File(path).close()
    except OSError:
        return "is broken"
    return None


def _variable_names(file):
    """The names of all arrays in an HDF5 file."""
    names = set()
    with h5py.File(file) as opened:
        opened.visititems(lambda name, item: names.add(name) if isinstance(item, h5py.Dataset) else None)
    return names
