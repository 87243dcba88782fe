"""tfnmt: recurrent translation and sentence trees in static graphs, with TensorFlow and Keras.

The names below are imported when they are first used: TensorFlow takes seconds to start, and `--help` should not.
"""

import importlib
import os
import sys

__version__ = "0.1.0"

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

# TensorFlow then makes the operations of a graph in a faster way of its own, which is not its default. The graphs are
# the same; docs/results.md ("Tracing") has what it gains.
_FLAG = "TF_FLAG_GRAPH_BUILDING_OPTIMIZATION"
os.environ.setdefault(_FLAG, "true")
if "tensorflow" in sys.modules:  # it was imported before, and has read the variable
    importlib.import_module("tensorflow.core.config.flags").config().graph_building_optimization.reset(
        os.environ[_FLAG] == "true"
    )


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'tfnmt' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
