"""The graphs of training, search and serving, traced: one of each structure, in small sizes."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.classification.servable import ClassifierServable
from tfnmt.data.samples.translation import sample_pairs
from tfnmt.text.brackets import BRACKET_WORDS
from tfnmt.text.tokenizers import SubwordTokenizer, WordTokenizer
from tfnmt.training.configuration import OPTIMIZERS, TrainingConfiguration
from tfnmt.training.optimizers import make_optimizer
from tfnmt.training.replicas import ONE_REPLICA, Replicas
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.presets import PRESETS
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.servable import TranslatorServable
from tfnmt.translation.shortlist import Shortlist
from tfnmt.translation.training import compile_for_training
from tfnmt.translation.translator import Translator
from tfnmt_programs.benchmarks.untrained import placeholder_tokenizer, untrained_translator

VOCABULARY = 1000
"""Words: so many that searches look for the best ones in blocks."""

Trace = Callable[[], Any]
"""A function without arguments that returns a `ConcreteFunction`."""

_TRANSLATOR_SIZES = {
    "source_embedding_size": 4,
    "target_embedding_size": 4,
    "encoder_units": 4,
    "attention_units": 4,
    "micro_batches": 1,
}
_CLASSIFIER_SIZES = {"embedding_size": 4, "units": 4, "tracker_units": 4, "head_units": 4, "micro_batches": 1}

_TRAINING = TrainingConfiguration()
_TRANSLATORS = {
    "lstm, all options": {
        "cell": "lstm",
        "encoder_layers": 2,
        "decoder_layers": 2,
        "residual": True,
        "input_feeding": True,
        "layer_normalization": True,
        "word_dropout": 0.1,
        "state_dropout": 0.1,
    },
    "micro-batches": {"attention": "none", "conditional": False, "bidirectional": False, "micro_batches": 2},
    "attention dot": {"attention": "dot", "tied_embeddings": True},
    "attention general": {"attention": "general", "bidirectional": False},
}
"""Translators that no preset has."""

_BRACKETS_FOR_THE_TRACKER = {
    "brackets_as_words": True,
    "composed_brackets": False,
    "tracker_reads": "words",
}
_CLASSIFIERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gru", {}),
    ("lstm", {}),
    ("cnn", {"activation": "maxout"}),
    ("inception", {}),
    ("spinn-pi", {}),
    ("spinn-pi-nt", {"leaf_rnn": "gru"}),
    ("spinn", {}),
    ("spinn", {"task": "sst"}),
    ("spinn", {"composition": "grc"}),
    ("rl-spinn", {}),
    ("rl-spinn", {"task": "sst", "reward": "mean_likelihood"}),
    ("rl-spinn", {"tracker_reads": "words"}),
    ("spinn", {"task": "logic", **_BRACKETS_FOR_THE_TRACKER}),
)
"""Encoders in training that no preset has; the bag of words is trained by every optimizer."""

_SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"method": "greedy"},
    "sampling": {"method": "sample", "top_k": 3, "top_p": 0.9, "temperature": 0.5},
    "beam": {"beam_size": 2, "n_best": 2},
    "beam, bfloat16, all constraints": {
        "beam_size": 2,
        "precision": "bfloat16",
        "length_norm": "gnmt",
        "coverage_penalty": 0.2,
        "no_repeat_ngram": 2,
        "minimum_length": 1,
        "no_unknown": True,
        "replace_unknown": True,
    },
}


class TwoWorkers(Replicas):
    """The first of two workers, whose sums are those of `MultiWorkerMirroredStrategy`; for graphs that do not run."""

    number = 2

    def sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """See `Replicas`."""
        return [
            tf.raw_ops.CollectiveReduceV2(
                input=tensor,
                group_size=2,
                group_key=1,
                instance_key=i,
                ordering_token=[],
                merge_op="Add",
                final_op="Id",
            )
            for i, tensor in enumerate(tensors)
        ]

    sum_of_processes = sum


def traced_graphs() -> Iterator[tuple[str, Trace]]:
    """Names of graphs, and what traces each: "training …", "search …" or "serving …"."""
    yield from _trainings_of_translators()
    yield from _trainings_of_classifiers()
    yield from _searches()
    yield from _servings()


def _trainings_of_translators():
    for name, preset in PRESETS.items():
        yield _training_of_translator(f"preset {name}", _small(preset.model), preset.training)
    for name, options in _TRANSLATORS.items():
        yield _training_of_translator(name, TranslatorConfiguration(**_sizes_and(options)))
    training = TrainingConfiguration(mixed_precision=True)
    yield _training_of_translator("mixed precision", _small(PRESETS["tiny"].model), training)
    yield _training_of_translator("two workers", _small(PRESETS["multi30k"].model), replicas=TwoWorkers())


def _training_of_translator(name, configuration, training=_TRAINING, replicas=ONE_REPLICA):
    def trace():
        model = untrained_translator(configuration, VOCABULARY)
        model.product_dtype = "bfloat16" if training.mixed_precision else None
        compile_for_training(model, training, total_updates=100)
        model.replicas = replicas
        return _step(model, {"source": _matrix(), "target": _matrix()}, _matrix())

    return f"training translator, {name}", trace


def _trainings_of_classifiers():
    for name, preset in CLASSIFIER_PRESETS.items():
        options = _CLASSIFIER_SIZES | {"projection": preset.model.projection and 8}
        yield _training_of_classifier(
            f"preset {name}, {preset.model.encoder}", preset.model.replace(**options), preset.training
        )
    for name, options in _CLASSIFIERS:
        configuration = ClassifierConfiguration(encoder=name, **_CLASSIFIER_SIZES | options)
        yield _training_of_classifier(", ".join((name, *map(str, options.values()))), configuration)
    for optimizer in OPTIMIZERS:
        options = {"optimizer": optimizer, "accumulation_steps": 2, "weight_average": 0.9, "weight_decay": 0.1}
        training = TrainingConfiguration(**options, schedule="inverse_square_root", warmup_steps=10)
        configuration = ClassifierConfiguration(encoder="bag", **_CLASSIFIER_SIZES)
        yield _training_of_classifier(f"bag, optimizer {optimizer}", configuration, training)
    spinn = ClassifierConfiguration(encoder="spinn", **_CLASSIFIER_SIZES)
    yield _training_of_classifier("spinn, two workers", spinn, replicas=TwoWorkers())


def _training_of_classifier(name, configuration, training=_TRAINING, replicas=ONE_REPLICA):
    def trace():
        model = Classifier(configuration, WordTokenizer([*BRACKET_WORDS, "word"]))
        model.compile(make_optimizer(training, 100))
        model.replicas = replicas
        inputs = ["words", *(["transitions"] if model.encoder_spec.trains_on_parses else [])]
        phrases = configuration.reads_phrases and model.encoder_spec.trains_on_parses
        labels = _matrix() if phrases else tf.TensorSpec([None], tf.int32)
        return _step(model, {name: _matrix() for name in inputs}, labels)

    return f"training classifier, {name}", trace


def _searches():
    for name, options in _SEARCHES.items():
        configuration = SearchConfiguration(**options)
        yield f"search {name}", lambda c=configuration: _searcher(c).function(True).get_concrete_function()
    beam = SearchConfiguration(**_SEARCHES["beam"])
    for cell in ("gru", "lstm"):
        options = {"cell": cell, "attention": "general", "decoder_layers": 2, "input_feeding": True}
        yield f"search ensemble of {cell}", lambda o=options: _searcher(beam, 2, **o).function().get_concrete_function()
    yield "search shortlist", lambda: _searcher(beam, shortlist=_shortlist()).function(True).get_concrete_function()


def graphs_for_processors() -> Iterator[tuple[str, Trace]]:
    """The same of what is not meant for a GPU: searches in int8, whose products are the processor's."""
    for name in ("greedy", "beam"):
        configuration = SearchConfiguration(**_SEARCHES[name], precision="int8")
        yield f"search {name}, int8", lambda c=configuration: _searcher(c).function().get_concrete_function()


def _servings():
    for precision in ("none", "int8"):
        tokenizer = placeholder_tokenizer(VOCABULARY) if precision == "none" else _subwords()
        model = Translator(_small(PRESETS["multi30k"].model), tokenizer, tokenizer)
        servable = TranslatorServable([model], SearchConfiguration(beam_size=2), precision)
        for name, function in servable.functions.items():
            yield f"serving translator, {precision}, {name}", function.get_concrete_function
    for name, preset in CLASSIFIER_PRESETS.items():
        for encoder in ENCODERS if name == "snli" else ():
            options = _CLASSIFIER_SIZES | {"encoder": encoder, "projection": 8}
            model = Classifier(preset.model.replace(**options), placeholder_tokenizer(VOCABULARY))
            for signature, function in ClassifierServable(model).functions.items():
                yield f"serving classifier, {encoder}, {signature}", function.get_concrete_function


def _step(model, x, y):
    """A training step, as Keras's `fit` takes it."""
    model.optimizer.build(model.trainable_weights)
    weight = [tf.TensorSpec([])] if model.replicas.number > 1 else []
    return tf.function(model.train_step, autograph=False).get_concrete_function((x, y, *weight))


def _searcher(configuration, models=1, shortlist=None, **options):
    translators = [
        untrained_translator(TranslatorConfiguration(**_sizes_and(options)), VOCABULARY) for _ in range(models)
    ]
    return Searcher(translators, configuration, shortlist)


def _shortlist():
    words = np.arange(4, 7)
    return Shortlist(np.tile(words, [VOCABULARY, 1]), words, VOCABULARY)


def _subwords():
    lines = (text for pair in sample_pairs(200, seed=1, split="train") for text in pair)
    return SubwordTokenizer.train(lines, 200, "bpe", False, seed=1)


def _small(configuration):
    """A translator's configuration in small sizes."""
    return configuration.replace(**_sizes_and({"bidirectional": configuration.bidirectional}))


def _sizes_and(options):
    bidirectional = options.get("bidirectional", True)
    return _TRANSLATOR_SIZES | {"decoder_units": 8 if bidirectional else 4} | options


def _matrix():
    return tf.TensorSpec([None, None], tf.int32)
