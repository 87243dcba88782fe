"""One translator or several as they are exported: signatures from text to text."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.quantization import StoredWeights
from tfnmt.text.tokenizers import PADDING
from tfnmt.translation.ensemble import Ensemble
from tfnmt.translation.scoring import log_probabilities
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.shortlist import Shortlist
from tfnmt.translation.translator import Translator

LARGEST = 100_000
"""Characters of a batch of translations to score, with padding, at most: the logits of all tokens are in memory."""

_TEXTS = "string [batch]: sentences, UTF-8"
SIGNATURES = {
    "serving_default": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "translation": "string [batch]: the best translation; an empty text's is empty",
            "score": "float32 [batch]: its log-probability, divided by its length to the power of the length penalty",
        },
    },
    "nbest": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "translations": "string [batch, n]: the n best translations, best first",
            "scores": "float32 [batch, n]: their scores",
        },
    },
    "align": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "translation": "string [batch]: the best translation",
            "source_words": "string [batch, source_length]: what the model read, then empty strings as padding",
            "target_words": "string [batch, target_length]: what it wrote, then empty strings as padding",
            "attention": "float32 [batch, target_length, source_length]: which words read each written one looked at;"
            " a written word's sum is 1, and padding is 0",
        },
    },
    "score": {
        "inputs": {"source": _TEXTS, "target": "string [batch]: a translation of each, UTF-8"},
        "outputs": {"log_probability": "float32 [batch]: of the target and its end, given the source"},
    },
    "encode": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "summary": "float32 [batch, size]: the encoder's summary of each text (those of an ensemble concatenated)"
        },
    },
}

_SEARCH = {"text_tokens": 128, "request_tokens": 400}
LIMITS = {
    "serving_default": _SEARCH,
    "nbest": _SEARCH,
    "align": _SEARCH,
    "score": {"text_tokens": 400, "request_tokens": 2000},
    "encode": {"text_tokens": 400, "request_tokens": 4000},
}
"""As much as takes the preset `multi30k` with a beam of 5 no more than a second of a processor."""


class TranslatorServable(tf.Module):
    """Translators with their tokenizers, weights and search, as `tfnmt.serving.export.export` takes them.

    Args:
        models: `Translator`s with the same tokenizers; the mean of their probabilities counts.
        search: a `SearchConfiguration`.
        precision: how the weights are stored, see `StoredWeights`; int8 if that is what is multiplied in.
        shortlist: a `Shortlist`, or None for the whole vocabulary.

    Raises:
        UserError: the models do not go together, or what is multiplied in int8 is to be stored otherwise.
    """

    kind = "translator"
    # Warm-up requests: of one row and of several, short and long.
    examples = (
        ["A dog runs."],
        ["The small dog sees a red ball.", "Two men in blue shirts are standing in front of a building."],
        ["If he has called him, the tired woman gives him a small newspaper."] * 8,
    )

    def __init__(
        self,
        models: Sequence[Translator],
        search: SearchConfiguration,
        precision: str = "none",
        shortlist: Shortlist | None = None,
    ):
        super().__init__(name="translator")
        self._multiplies_in_int8 = search.precision == "int8"
        if self._multiplies_in_int8:
            require(precision in ("none", "int8"), "quantize", precision, "int8 or none with precision=int8")
            precision = "int8"
        self.options = {"quantize": precision, "models": len(models), "search": search.model_dump(mode="json")}
        ensemble = Ensemble(models)
        searcher = Searcher(ensemble, search.replace(alignments=False), shortlist)
        aligner = None
        if ensemble.has_attention:
            aligner = Searcher(ensemble, search.replace(alignments=True), shortlist)
        self._untracked = _Untracked(ensemble, searcher, aligner)
        self.tokenizers = [ensemble.source_tokenizer, ensemble.target_tokenizer]
        self.weights = (
            ensemble.int8_weights() if self._multiplies_in_int8 else StoredWeights(ensemble.models, precision)
        )
        self._untracked.best = _traced(lambda text: self._find(searcher, text), "text")
        self.documentation = {name: SIGNATURES[name] for name in SIGNATURES if name != "align" or aligner}
        methods = {name: getattr(self, f"_{name}") for name in self.documentation}
        self._untracked.functions = {
            name: _traced(method, *SIGNATURES[name]["inputs"]) for name, method in methods.items()
        }
        source, target = (_traced(_check(tokenizer), "text") for tokenizer in self.tokenizers)
        self.checks = {
            name: {key: target if key == "target" else source for key in SIGNATURES[name]["inputs"]} for name in methods
        }
        self.limits = {name: LIMITS[name] for name in methods}

    @property
    def functions(self) -> dict[str, tf.types.experimental.PolymorphicFunction]:
        """The `tf.function` of each signature."""
        return self._untracked.functions

    def _find(self, searcher, text):
        if self._multiplies_in_int8:
            return searcher.find(text)  # which uses the same weights itself
        with self.weights.in_use(self._untracked.ensemble.models):
            return searcher.find(text)

    def _serving_default(self, text):
        found = self._untracked.best(text)
        return {"translation": found.texts[:, 0], "score": found.scores[:, 0]}

    def _nbest(self, text):
        found = self._untracked.best(text)
        return {"translations": found.texts, "scores": found.scores}

    def _align(self, text):
        ensemble = self._untracked.ensemble
        found = self._find(self._untracked.aligner, text)
        return {
            "translation": found.texts[:, 0],
            "source_words": _words(ensemble.source_tokenizer, ensemble.source_ids(text)),
            "target_words": _words(ensemble.target_tokenizer, found.ids[:, 0]),
            "attention": found.attention[:, 0],
        }

    def _score(self, source, target):
        characters = tf.strings.length(target, unit="UTF8_CHAR")
        with_padding = tf.size(target) * tf.reduce_max(tf.concat([characters, [0]], axis=0))
        message = f"more than {LARGEST:,} characters of target at once (rows times the longest): score fewer or shorter"
        tf.debugging.assert_less_equal(with_padding, LARGEST, message)
        ensemble = self._untracked.ensemble
        with self.weights.in_use(ensemble.models):
            log_p, _ = log_probabilities(ensemble, source, target)
        return {"log_probability": tf.reduce_sum(log_p, axis=1)}

    def _encode(self, text):
        ensemble = self._untracked.ensemble
        with self.weights.in_use(ensemble.models):
            source = ensemble.source_ids(text)
            summaries = [tf.cast(model.encoder(source)["summary"], tf.float32) for model in ensemble.models]
        return {"summary": tf.concat(summaries, axis=1)}


class _Untracked:
    """What `tf.Module` must not track.

    Models: their variables would be saved in addition to those of `StoredWeights`. Functions: `tf.saved_model.save`
    would trace each once more, where the signatures' traces are enough.
    """

    best: tf.types.experimental.PolymorphicFunction
    functions: dict[str, tf.types.experimental.PolymorphicFunction]

    def __init__(self, ensemble, searcher, aligner):
        self.ensemble, self.searcher, self.aligner = ensemble, searcher, aligner


def _check(tokenizer):
    """What `tfnmt.serving.export.Servable.checks` says. Any text can be translated."""

    def check(text):
        tokens = tf.cast(tokenizer.encode(text).row_lengths(), tf.int32)
        return {"tokens": tokens, "problem": tf.fill(tf.shape(text), "")}

    return check


def _traced(method, *inputs):
    specifications = [tf.TensorSpec([None], tf.string, name) for name in inputs]
    return tf.function(method, input_signature=specifications, autograph=False)


def _words(tokenizer, ids):
    """Ids → their words, "" where there is padding."""
    return tf.where(ids == PADDING, "", tokenizer.ids_to_tokens(ids))
