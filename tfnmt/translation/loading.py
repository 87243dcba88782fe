"""A searcher of models and a shortlist that are in files."""

from collections.abc import Sequence
from pathlib import Path

from tfnmt.pretrained import find_model
from tfnmt.training.model_directory import load_model
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.shortlist import load_shortlist
from tfnmt.translation.translator import Translator


def load_searcher(
    models: Sequence[str | Path], configuration: SearchConfiguration, shortlist: str | Path | None = None
) -> Searcher:
    """The searcher of one translator or several.

    Args:
        models: their directories, or names of models that come with the library.
        configuration: how to search.
        shortlist: the file of one, or None.

    Raises:
        UserError: a file is missing, broken or cut short; as `Searcher`.
    """
    translators = [load_model(Translator, find_model(model)) for model in models]
    return Searcher(translators, configuration, load_shortlist(shortlist) if shortlist else None)
