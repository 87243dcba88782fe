"""The mean of a run's last checkpoints as one model: often better than each of them, for nothing."""

import dataclasses
import logging
from pathlib import Path

import tensorflow as tf

from tfnmt.classification.evaluation import evaluate_batches, evaluation_dataset
from tfnmt.classification.model_card import model_card as classifier_card
from tfnmt.classification.presets import ClassifierPreset
from tfnmt.configuration import require
from tfnmt.data.example_batches import evaluation_batches
from tfnmt.data.parallel import ParallelFiles
from tfnmt.errors import UserError
from tfnmt.models import model_class
from tfnmt.pretrained import find_model
from tfnmt.training.checkpoints import checkpoint_names, variable_key
from tfnmt.training.digests import write_with_digest
from tfnmt.training.model_directory import CHECKPOINTS, CONFIGURATION, new_model, save_tokenizers, save_weights
from tfnmt.training.run_record import read_preset, require_run, resumed_record
from tfnmt.translation.model_card import model_card as translator_card
from tfnmt.translation.presets import Preset
from tfnmt.translation.training import compile_for_training, dev_scoring
from tfnmt.translation.translator import Translator

logger = logging.getLogger(__name__)


def average_checkpoints(directory: str | Path, last: int, output: str | Path, command: str | None = None) -> list[str]:
    """Write a model directory whose weights are the means of those in a run's last checkpoints. Its model card has the
    scores on the run's dev data, if these are as they were.

    The weights that the run trained are averaged, not the moving averages (weight_average) that it may have kept.

    Args:
        directory: the model directory that training wrote, with checkpoints/.
        last: how many of the newest checkpoints.
        output: the directory to write.
        command: that does it, for the model card.

    Returns:
        The checkpoints' names, newest first.

    Raises:
        UserError: there are fewer checkpoints, one cannot be read or is of another model, there is a model in
            `output`, or it is a file or cannot be written.
    """
    require(last >= 1, "last", last, "a whole number from 1")
    directory, output = find_model(directory), Path(output)
    if output.exists() and not output.is_dir():
        raise UserError(f"{output}: is a file; name a directory as --output")
    if (output / CONFIGURATION).exists():
        raise UserError(f"{output}: a model is there already; name another --output")
    model = new_model(model_class(directory), directory)
    names = [name for name in checkpoint_names(directory / CHECKPOINTS) if name != "step-0"]  # which is not trained
    if len(names) < last:
        raise UserError(
            f"{directory / CHECKPOINTS}: has {len(names)} of the {last} checkpoints asked for; a run keeps as many as"
            " keep_checkpoints says"
        )
    readers = [_reader(directory / CHECKPOINTS / name) for name in names[:last]]
    places = {id(variable): place for place, variable in enumerate(model.variables)}
    for weight in model.weights:  # and not the states of dropout's random numbers, which are variables too
        key = variable_key(places[id(weight)])
        weight.assign(sum(_read(reader, key, weight.shape, directory) / last for reader in readers))
    save_tokenizers(model, output)
    save_weights(model, output)
    _write_card(
        model, directory, output, f"the mean of {', '.join(names[:last])} of {directory.resolve().name}", command
    )
    # Last: a model is there only when all of it is, and until then the same command may be given again.
    write_with_digest(output / CONFIGURATION, (directory / CONFIGURATION).read_bytes())
    return names[:last]


def _write_card(model, directory, output, weights, command):
    """The model card: of the run's data, and of the new weights."""
    is_translator = isinstance(model, Translator)
    try:
        require_run(directory)
        preset = read_preset(directory, Preset if is_translator else ClassifierPreset)
        record = resumed_record(directory)
    except UserError as error:
        logger.info("%s: has no model card: %s", output, error)
        return
    _, paths = record.paths(directory)
    if is_translator:
        files = ParallelFiles(*paths)
        compile_for_training(model, preset.training, total_updates=1)  # for its loss
        scores = dev_scoring(model, model, files)()
    else:
        files = evaluation_dataset(model.configuration, paths, preset.examples.broken_trees)
        batches = evaluation_batches(files, model.tokenizer, preset.examples.batch_size)
        figures, _ = evaluate_batches(model, batches, files)
        scores = {f"dev_{name}": value for name, value in figures.items()}
    make_card = translator_card if is_translator else classifier_card
    card = make_card(model, preset, record.replace(command=command), scores, (), files)
    dataclasses.replace(card, weights=weights).write(output)


def _reader(path):
    try:
        return tf.train.load_checkpoint(str(path))
    except (tf.errors.OpError, ValueError) as error:
        raise UserError(f"{path}: this checkpoint cannot be read ({str(error).splitlines()[0]})") from error


def _read(reader, key, shape, directory):
    """A weight, float [shape], in double precision."""
    found = reader.get_variable_to_shape_map().get(key)
    if found is None or tuple(found) != tuple(shape):
        raise UserError(f"{directory / CHECKPOINTS}: is of another model than {CONFIGURATION} tells of")
    try:
        return reader.get_tensor(key).astype("float64")
    except (tf.errors.OpError, IndexError) as error:  # the latter of a file that is cut off
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{directory / CHECKPOINTS}: one of the last cannot be read ({reason}); delete it, or try a smaller --last"
        ) from error
