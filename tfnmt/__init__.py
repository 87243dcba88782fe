"""tfnmt: recurrent translation and sentence trees in static graphs, with TensorFlow and Keras.

The names below are imported when they are first used: TensorFlow takes seconds to start, and `--help` should not.
"""

import importlib

_HOMES = {
    "Classifier": "tfnmt.models.classifier",
    "ClassifierConfiguration": "tfnmt.models.classifier_configuration",
    "MaskedCrossEntropy": "tfnmt.training.losses",
    "Perplexity": "tfnmt.training.metrics",
    "SearchConfiguration": "tfnmt.models.search_configuration",
    "Searcher": "tfnmt.models.searcher",
    "SubwordTokenizer": "tfnmt.text.tokenizers",
    "TokenAccuracy": "tfnmt.training.metrics",
    "Translator": "tfnmt.models.translator",
    "TranslatorConfiguration": "tfnmt.models.configuration",
    "WordTokenizer": "tfnmt.text.tokenizers",
    "count_dropped": "tfnmt.data.batching",
    "evaluation_batches": "tfnmt.data.batching",
    "find_preset": "tfnmt.models.presets",
    "load": "tfnmt.models.directory",
    "sample_pairs": "tfnmt.data.sample",
    "training_batches": "tfnmt.data.batching",
}
__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'tfnmt' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
