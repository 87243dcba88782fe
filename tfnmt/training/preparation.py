"""What the training of every model begins with: a directory for it, and perhaps the weights of a trained model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from tfnmt.configuration import Configuration, require
from tfnmt.errors import UserError
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.training.model_directory import (
    CHECKPOINTS,
    CONFIGURATION,
    WEIGHTS,
    load_model,
    read_configuration,
    save_configuration,
    save_tokenizers,
)

# A resumed run may have other values of these: they say how long it is and how often it is saved, not what it computes.
# (With a cosine schedule, its length is part of what it computes.)
MAY_CHANGE = {"epochs", "steps", "patience", "checkpoint_steps", "keep_checkpoints"}


def prepare_run(directory: Path, preset: Any, resume: bool, measures: Sequence[str]) -> bool:
    """Check that a run may write to a directory.

    Args:
        directory: the model directory.
        preset: a configuration made of configurations, "training" among them.
        resume: whether a run that has begun there is to go on.
        measures: the dev scores by which the best weights may be selected.

    Returns:
        Whether a run has begun there, and goes on.

    Raises:
        UserError: there is one and it is not to be resumed, or was started with other settings; `preset` selects by
            another measure.
    """
    selection = preset.training.selection
    require(selection in measures, "selection", selection, " or ".join(measures))
    if not any((directory / name).exists() for name in (CONFIGURATION, CHECKPOINTS, WEIGHTS)):
        return False  # also with `resume`: the run may have been killed before it wrote anything
    if not resume:
        raise UserError(f"{directory}: a model is there already; --resume goes on with it, or name another --output")
    started = read_configuration(directory, **{name: type(configuration) for name, configuration in preset})
    for name, configuration in preset:
        for key, value in configuration:
            if (before := getattr(started[name], key)) == value:
                continue
            if key in ("epochs", "steps") and preset.training.schedule == "cosine":
                raise UserError(
                    f"{directory}: the run was started with {key}={before}, not {value}, and its cosine schedule is as"
                    " long as the run; resume it with the same, or train on from its end in another --output, with"
                    f" --initial {directory}"
                )
            if key not in MAY_CHANGE:
                raise UserError(
                    f"{directory}: the run was started with {key}={before}, not {value};"
                    " give --resume the options that it was started with"
                )
    return True


def save_description(model: keras.Model, directory: Path, preset: Configuration, resuming: bool) -> None:
    """Write all of a model directory but the weights: config.json and, unless they were read from it, the tokenizers.

    Raises:
        UserError: the file system refuses, for example because it is full.
    """
    if not resuming:
        save_tokenizers(model, directory)
    save_configuration(model, directory, **{name: value for name, value in preset if name != "model"})


def initial_model(configuration: TrainingConfiguration, directory: Path, cls: type[keras.Model]) -> keras.Model | None:
    """The trained model that a run begins with (key `initial`); None if there is none, or the run has begun.

    Args:
        configuration: the run's.
        directory: the run's model directory.
        cls: the class of model to train, `Translator` or `Classifier`.

    Raises:
        UserError: it cannot be loaded, or is of another kind.
    """
    if configuration.initial is None or checkpoint_names(directory / CHECKPOINTS):
        return None
    return load_model(cls, configuration.initial)


def copy_weights(initial: keras.Model, model: keras.Model, directory: str | None) -> None:
    """Give a new model the weights of a trained one.

    Args:
        initial: the trained model.
        model: the new one.
        directory: where `initial` was loaded from, for messages.

    Raises:
        UserError: the weights differ in number or shape; names the first that does.
    """
    way_out = "give the --preset and --set that make the same"
    if len(model.weights) != len(initial.weights):
        raise UserError(
            f"{directory}: it has {len(initial.weights)} weights, the model to train {len(model.weights)}; {way_out}"
        )
    for weight, trained in zip(model.weights, initial.weights, strict=True):
        if weight.shape != trained.shape:
            shapes = f"{tuple(trained.shape)}, not {tuple(weight.shape)} as in the model to train"
            raise UserError(f"{directory}: the shape of {trained.path} is {shapes}; {way_out}")
        weight.assign(trained)
