"""The mean of a run's last checkpoints as one model: often better than each of them, for nothing."""

from pathlib import Path

import tensorflow as tf

from tfnmt.errors import UserError
from tfnmt.models import load
from tfnmt.training.checkpoints import checkpoint_names
from tfnmt.training.digests import write_with_digest
from tfnmt.training.model_directory import CHECKPOINTS, CONFIGURATION, WEIGHTS, save_tokenizers, save_weights


def average_checkpoints(directory: str | Path, last: int, output: str | Path) -> list[str]:
    """Write a model directory whose weights are the means of those in a run's last checkpoints.

    The weights that the run trained are averaged, not the moving averages (weight_average) that it may have kept.

    Args:
        directory: the model directory that training wrote, with checkpoints/.
        last: how many of the newest checkpoints.
        output: the directory to write.

    Returns:
        The checkpoints' names, newest first.

    Raises:
        UserError: there are fewer checkpoints, one cannot be read or is of another model, or there is a model in
            `output`.
    """
    directory, output = Path(directory), Path(output)
    if (output / CONFIGURATION).exists() or (output / WEIGHTS).exists():
        raise UserError(f"{output}: a model is there already; name another --output")
    model = load(directory)
    names = [name for name in checkpoint_names(directory / CHECKPOINTS) if name != "step-0"]  # which is not trained
    if len(names) < last:
        raise UserError(
            f"{directory / CHECKPOINTS}: has {len(names)} of the {last} checkpoints asked for; a run keeps as many as"
            " keep_checkpoints says"
        )
    readers = [_reader(directory / CHECKPOINTS / name) for name in names[:last]]
    places = {id(variable): place for place, variable in enumerate(model.variables)}
    for weight in model.weights:  # and not the states of dropout's random numbers, which are variables too
        key = f"variables/{places[id(weight)]}/.ATTRIBUTES/VARIABLE_VALUE"
        weight.assign(sum(_read(reader, key, weight.shape, directory) / last for reader in readers))
    save_tokenizers(model, output)
    write_with_digest(output / CONFIGURATION, (directory / CONFIGURATION).read_bytes())
    save_weights(model, output)
    return names[:last]


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
    except tf.errors.OpError as error:
        raise UserError(f"{directory / CHECKPOINTS}: cannot be read ({str(error).splitlines()[0]})") from error
