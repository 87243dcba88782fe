"""Loading a model of either kind from its directory."""

from pathlib import Path

from tfnmt.classification.classifier import Classifier
from tfnmt.errors import UserError
from tfnmt.training.model_directory import CONFIGURATION, load_model, read_kind
from tfnmt.translation.translator import Translator

_CLASSES = {cls.kind: cls for cls in (Translator, Classifier)}


def load(directory, kind=None):
    """The model in a directory, as training left it: the weights with the best dev score.

    Args:
        directory: the model directory.
        kind: "translator" or "classifier", where no other will do; None for either.

    Raises:
        UserError: a file is missing, broken or cut short, or the model is of another kind; names it.
    """
    kind = kind or read_kind(directory)
    if kind not in _CLASSES:
        raise UserError(f"{Path(directory, CONFIGURATION)}: kind={kind}: allowed is {' or '.join(_CLASSES)}")
    return load_model(_CLASSES[kind], directory)
