"""tfnmt: recurrent translation and sentence trees in static graphs, with TensorFlow and Keras.

The names below are imported when they are first used: TensorFlow takes seconds to start, and `--help` should not.
"""

import importlib

_HOMES = {
    "Translator": "tfnmt.models.translator",
    "TranslatorConfiguration": "tfnmt.models.configuration",
    "load": "tfnmt.models.directory",
}
__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'tfnmt' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
