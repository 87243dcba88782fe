"""tfnmt: recurrent translation and sentence trees in static graphs, with TensorFlow and Keras.

The names below are imported when they are first used: TensorFlow takes seconds to start, and `--help` should not.
"""

import importlib

__version__ = "1.3.1"

_HOMES = {
    "Classifier": "tfnmt.classification.classifier",
    "ClassifierConfiguration": "tfnmt.classification.configuration",
    "MaskedCrossEntropy": "tfnmt.training.losses",
    "Perplexity": "tfnmt.training.metrics",
    "SearchConfiguration": "tfnmt.translation.search_configuration",
    "Searcher": "tfnmt.translation.searcher",
    "SubwordTokenizer": "tfnmt.text.tokenizers",
    "TokenAccuracy": "tfnmt.training.metrics",
    "Translator": "tfnmt.translation.translator",
    "TranslatorConfiguration": "tfnmt.translation.configuration",
    "WordTokenizer": "tfnmt.text.tokenizers",
    "count_dropped": "tfnmt.data.pair_batches",
    "evaluation_batches": "tfnmt.data.pair_batches",
    "find_preset": "tfnmt.translation.presets",
    "load": "tfnmt.models",
    "sample_pairs": "tfnmt.data.samples.translation",
    "training_batches": "tfnmt.data.pair_batches",
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'tfnmt' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
