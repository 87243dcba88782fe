"""What the training of every model begins with: a directory for it, and perhaps the weights of a trained model."""

import contextlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import keras

from tfnmt.configuration import require
from tfnmt.errors import UserError
from tfnmt.pretrained import find_model
from tfnmt.signals import StopSignals
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.configuration import MAY_CHANGE, TrainingConfiguration
from tfnmt.training.log_file import log_to_file
from tfnmt.training.model_directory import (
    CHECKPOINTS,
    CONFIGURATION,
    WEIGHTS,
    load_model,
)
from tfnmt.training.replicas import Replicas
from tfnmt.training.run_lock import lock_directory
from tfnmt.training.run_record import RECORD, read_preset, require_run, started_preset

OTHER_OUTPUT = "name another --output"


@contextlib.contextmanager
def open_run(
    directory: Path, preset: Any, resume: bool, measures: Sequence[str], replicas: Replicas
) -> Iterator[dict[str, Any]]:
    """Within the block, a run has a directory for itself, a new one or that of a run that goes on, with a log.txt, and
    signals end it in good order.

    Args:
        directory: the model directory.
        preset: a configuration made of configurations, "training" among them.
        resume: whether the run that has begun there is to go on.
        measures: the dev scores by which the best weights may be selected.
        replicas: those that train; of several processes, the chief's has the directory.

    Yields:
        The arguments `signals`, `check_directory` and `replicas` of `TrainingRun`.

    Raises:
        UserError: there is no run to go on with, or it was started with other settings; without `resume`, there is
            one, or a model; another run is writing there; `preset` selects by another measure, or accumulates where
            the replicas do not.
    """
    selection = preset.training.selection
    require(selection in measures, "selection", selection, " or ".join(measures))
    steps = preset.training.accumulation_steps
    require(steps == 1 or replicas.accumulates, "accumulation_steps", steps, "1 with --strategy mirrored; or --workers")

    def advice() -> str:
        if not checkpoint_names(directory / CHECKPOINTS):
            return "nothing is saved yet: start it again"
        return f"tfnmt train-{preset.kind} --resume {shlex.quote(str(directory))} goes on"

    with contextlib.ExitStack() as opened:
        session: dict[str, Any] = {"replicas": replicas}

        def claim() -> None:
            if resume:
                require_run(directory)
            session["check_directory"] = opened.enter_context(lock_directory(directory))
            if resume:
                _check_resumable(directory, preset)
            else:
                _check_free(directory)
            opened.enter_context(log_to_file(directory))

        replicas.from_chief(claim)
        session["signals"] = opened.enter_context(StopSignals(advice))
        yield session


def _check_free(directory):
    """Raise `UserError` if there is a model or a run in a directory. One without a checkpoint has not begun."""
    is_run, has_begun = (directory / RECORD).exists(), any((directory / CHECKPOINTS).glob("*.index"))
    if has_begun or (directory / WEIGHTS).exists():
        can_go_on = is_run and has_begun
        advice = f"--resume {directory} goes on with it, or name another --output" if can_go_on else OTHER_OUTPUT
        raise UserError(f"{directory}: a model is there already; {advice}")
    if (directory / CONFIGURATION).exists() and not is_run:
        raise UserError(f"{directory}: {CONFIGURATION} is there already; {OTHER_OUTPUT}")


def _check_resumable(directory, preset):
    if not checkpoint_names(directory / CHECKPOINTS):
        if not (directory / WEIGHTS).exists():  # it ended before its first checkpoint: `_check_free` lets it begin
            raise UserError(f"{directory}: nothing is saved there yet: start it again, with the same --output")
        raise UserError(
            f"{directory / CHECKPOINTS}: there is no checkpoint to go on from; begin anew, in another directory"
            f" (--initial {directory} takes the best weights from here)"
        )
    started = started_preset(directory, type(preset))
    for name, configuration in preset:
        for key, value in configuration:
            if (before := getattr(getattr(started, name), key)) == value:
                continue
            if key in ("epochs", "steps") and started.training.schedule == "cosine":
                raise UserError(
                    f"{directory}: the run was started with {key}={before}, not {value}, and its cosine schedule is as"
                    " long as the run; resume it with the same, or train on from its end in another --output, with"
                    f" --initial {directory}"
                )
            if key not in MAY_CHANGE:
                raise UserError(
                    f"{directory}: the run was started with {key}={before}, not {value}; only"
                    f" {', '.join(MAY_CHANGE)} may change: begin another run, in another directory, perhaps"
                    f" with the weights of this one (--initial {directory})"
                )


def initial_model(configuration: TrainingConfiguration, cls: type[keras.Model]) -> keras.Model | None:
    """The trained model that a run begins with (key `initial`); None if there is none.

    Args:
        configuration: the run's.
        cls: the class of model to train, `Translator` or `Classifier`.

    Raises:
        UserError: it cannot be loaded, or is of another kind.
    """
    return None if configuration.initial is None else load_model(cls, find_model(configuration.initial))


def initial_preset(preset: Any) -> Any:
    """What the model that a run begins with (key `initial`) was trained with; if there is none, `preset` itself.

    Args:
        preset: the run's, as `open_run`.

    Raises:
        UserError: as `initial_model`.
    """
    initial = preset.training.initial
    return preset if initial is None else read_preset(find_model(initial), type(preset))


def copy_weights(initial: keras.Model, model: keras.Model, directory: str | None) -> None:
    """Give a new model the weights of a trained one, except those of layers that begin anew with every run.

    Args:
        initial: the trained model.
        model: the new one.
        directory: where `initial` was loaded from, for messages.

    Raises:
        UserError: the weights differ in number or shape; names the first that does.
    """
    advice = f"--config {directory}/{CONFIGURATION} makes the same, as do its --preset and --set"
    for key in ("task", "encoder"):
        before, now = (getattr(each.configuration, key, None) for each in (initial, model))
        if before != now:
            advice = f"it has {key}={before}, not {now}"
    new, old = _kept_weights(model), _kept_weights(initial)
    if len(new) != len(old):
        raise UserError(f"{directory}: it has {len(old)} arrays of weights, the model to train {len(new)}; {advice}")
    for weight, trained in zip(new, old, strict=True):
        if weight.shape != trained.shape:
            shapes = f"{tuple(trained.shape)}, not {tuple(weight.shape)} as in the model to train"
            raise UserError(f"{directory}: the shape of {trained.path} is {shapes}; {advice}")
        weight.assign(trained)


def _kept_weights(model):
    anew = [weight for layer in model.layers if getattr(layer, "begins_anew", False) for weight in layer.weights]
    return [weight for weight in model.weights if all(weight is not other for other in anew)]
