"""What a training leaves beside the weights: all that loads the model and resumes the run, and a model card."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from tfnmt.configuration import Configuration
from tfnmt.training.model_card import ModelCard, best_scores
from tfnmt.training.model_directory import load_weights, save_configuration, save_tokenizers
from tfnmt.training.progress import Progress
from tfnmt.training.run import TrainingRun
from tfnmt.training.run_record import RunRecord
from tfnmt.training.trainer import train


def train_and_describe(
    run: TrainingRun,
    model: keras.Model,
    preset: Configuration,
    record: RunRecord,
    make_card: Callable[..., ModelCard],
    dev_data: Any,
) -> Progress:
    """Train a run's model, and write all of its directory. `model` has the best weights then, in the chief's process.

    Args:
        run: what is trained.
        model: that to be saved; the run's, or the one whose weights the run's multiplies in bfloat16.
        preset, record: what the run depends on.
        make_card: such as `tfnmt.translation.model_card.model_card`.
        dev_data: what the card shows examples of.

    Raises:
        UserError: see `tfnmt.training.trainer.train`.
    """
    directory, replicas = run.directory, run.replicas
    replicas.from_chief(lambda: save_description(model, directory, preset, record, run.resuming))
    progress = train(run)
    if replicas.is_chief:
        load_weights(model, directory)
        scores = best_scores(progress, run.configuration.selection)
        make_card(model, preset, record, scores, progress.history, dev_data).write(directory)
    return progress


def save_description(
    model: keras.Model, directory: Path, preset: Configuration, record: RunRecord, resuming: bool
) -> None:
    """Write all of a model directory but the weights: run.json, config.json and, unless they are there, the tokenizers.

    Raises:
        UserError: the file system refuses, for example because it is full.
    """
    record.save(directory)
    if not resuming:
        save_tokenizers(model, directory)
    save_configuration(model, directory, **{name: value for name, value in preset if name != "model"})
