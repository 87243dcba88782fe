"""What the training of every model has in common: a directory that is claimed, a run in it, and the best weights."""

import contextlib
import sys

import keras

from tfnmt.configuration import require
from tfnmt.errors import UserError
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.model_directory import (
    CONFIGURATION,
    WEIGHTS,
    load_model,
    load_weights,
    read_configuration,
    save_configuration,
    save_tokenizers,
    save_weights,
)
from tfnmt.training.run import CHECKPOINTS, train

# A resumed run may have other values of these: they say how long it is and how often it is saved, not what it computes.
MAY_CHANGE = {"epochs", "steps", "patience", "checkpoint_steps", "keep_checkpoints"}


def claim(directory, preset, resume, measures):
    """Whether a run to go on with has begun in the directory.

    Args:
        measures: what the best weights may be chosen by.

    Raises:
        UserError: there is one and it is not to be resumed, or was started with other settings; `preset` chooses by
            another measure.
    """
    selection = preset.training.selection
    require(selection in measures, "selection", selection, " or ".join(measures))
    found = [name for name in (CONFIGURATION, CHECKPOINTS, WEIGHTS) if (directory / name).exists()]
    if not found:  # a resumed run may have been killed before it had begun
        nearest = next(place for place in (directory, *directory.absolute().parents) if place.exists())
        if not nearest.is_dir():
            raise UserError(f"{directory}: {nearest} is no directory; name another --output")
        return False
    if not resume:
        raise UserError(f"{directory}: a model is there already; --resume goes on with it, or name another --output")
    kept = read_configuration(directory, **{name: type(value) for name, value in preset})
    for name, configuration in preset:
        was = kept[name].model_dump(mode="json")
        for key, value in configuration.model_dump(mode="json").items():
            if was[key] != value and key not in MAY_CHANGE:
                raise UserError(
                    f"{directory}: the run was started with {key}={was[key]}, not {value};"
                    " give --resume the options that it was started with"
                )
    return True


def initial_model(configuration, directory, cls):
    """The trained model that a run begins with; None if with none, or if the run has come further already.

    Args:
        configuration: a `TrainingConfiguration`.
        directory: claimed by `claim`.
        cls: the class of model to train, `Translator` or `Classifier`.

    Raises:
        UserError: it cannot be loaded, or is of another kind.
    """
    if configuration.initial is None or checkpoint_names(directory / CHECKPOINTS):
        return None
    return load_model(cls, configuration.initial)


def start_from(model, initial, directory):
    """Give a model the weights of another, with which its training is to begin.

    Args:
        model: a new model.
        initial: the one loaded from `directory`.

    Raises:
        UserError: they are not made of the same weights; names the first that is not.
    """
    way_out = "give the --preset and --set that make the same"
    if len(model.weights) != len(initial.weights):
        raise UserError(
            f"{directory}: it has {len(initial.weights)} weights, the model to train {len(model.weights)}; {way_out}"
        )
    for ours, theirs in zip(model.weights, initial.weights, strict=True):
        if ours.shape != theirs.shape:
            shapes = f"{tuple(theirs.shape)}, not {tuple(ours.shape)} as in the model to train"
            raise UserError(f"{directory}: the shape of {theirs.path} is {shapes}; {way_out}")
        ours.assign(theirs)


def run_training(directory, preset, model, trained, batches, batches_per_epoch, dev_scores, begun, callbacks=()):
    """Write a model's directory and train it there.

    Args:
        directory: claimed by `claim`.
        preset: a configuration made of configurations, "model" and "training" among them.
        model: what is loaded from the directory in the end, and returned.
        trained: the same, compiled: `model` itself, or one that computes in another precision.
        batches, batches_per_epoch, dev_scores: as in `tfnmt.training.run.train`.
        begun: what `claim` said.
        callbacks: further Keras callbacks of `fit`.

    Returns:
        (`model` with the weights of the best dev score, its run's `Progress`).

    Raises:
        UserError: for everything wrong with the run or the disk.
    """
    if not begun:
        save_tokenizers(model, directory)
    others = {name: value for name, value in preset if name != "model"}
    save_configuration(model, directory, **others)
    progress = train(
        trained,
        batches,
        batches_per_epoch,
        dev_scores=dev_scores,
        save_best=lambda: save_weights(trained, directory),
        directory=directory,
        configuration=preset.training,
        resume=begun,
        callbacks=callbacks,
    )
    load_weights(model, directory)
    return model, progress


@contextlib.contextmanager
def naming(file):
    """Put the file's name before what a `UserError` says."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{file}: {error}") from error


@contextlib.contextmanager
def precision(name):
    """Layers made within it compute as Keras's dtype policy of that name says."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def say(line):
    """One line on standard error."""
    print(line, file=sys.stderr)
