"""Both kinds of models, translators and classifiers: load one from its directory, or make a servable of it."""

from collections.abc import Sequence
from pathlib import Path

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.servable import ClassifierServable
from tfnmt.configuration import require
from tfnmt.errors import UserError
from tfnmt.pretrained import find_model
from tfnmt.training.model_directory import CONFIGURATION, load_model, read_kind
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.servable import TranslatorServable
from tfnmt.translation.shortlist import Shortlist
from tfnmt.translation.translator import Translator

_CLASSES = {cls.kind: cls for cls in (Translator, Classifier)}


def load(directory: str | Path, kind: str | None = None) -> Translator | Classifier:
    """The model in a directory, as training left it: the weights with the best dev score.

    Args:
        directory: the model directory, or the name of a model that comes with the library, see `tfnmt models`.
        kind: "translator" or "classifier", where no other will do; None for either.

    Raises:
        UserError: a file is missing, broken or cut short, or the model is of another kind; names it.
    """
    require(kind in (None, *_CLASSES), "kind", kind, f"{' or '.join(_CLASSES)}, or None")
    directory = find_model(directory)
    return load_model(_CLASSES[kind] if kind else model_class(directory), directory)


def model_class(directory: str | Path) -> type[Translator] | type[Classifier]:
    """The class of the model in a directory.

    Raises:
        UserError: config.json is missing or broken, or tells of another kind.
    """
    kind = read_kind(directory)
    if kind not in _CLASSES:
        raise UserError(f"{Path(directory, CONFIGURATION)}: kind={kind}: allowed is {' or '.join(_CLASSES)}")
    return _CLASSES[kind]


def create_servable(
    models: Sequence[Translator | Classifier],
    search: SearchConfiguration | None = None,
    precision: str = "none",
    shortlist: Shortlist | None = None,
) -> TranslatorServable | ClassifierServable:
    """What `tfnmt.serving.export.export` writes: models with their tokenizers, as signatures from text to text.

    Args:
        models: `Translator`s with the same tokenizers, of which several are an ensemble, or one `Classifier`.
        search: of translators, fixed in the exported model; by default a beam of 5 that returns its best 5.
        precision: "none", "float16" or "int8": how the weights are stored, see `StoredWeights`.
        shortlist: of translators: the target words to score; None for all.

    Raises:
        UserError: the models do not go together, or there is no such precision.
    """
    kinds = [model.kind for model in models]
    if Classifier.kind not in kinds:
        return TranslatorServable(models, search or SearchConfiguration(n_best=5), precision, shortlist)
    if len(models) > 1:
        number = kinds.index(Classifier.kind) + 1
        raise UserError(f"model {number} is a classifier: only translators can be an ensemble")
    return ClassifierServable(models[0], precision)
