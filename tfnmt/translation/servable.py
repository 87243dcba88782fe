"""One translator or several as they are exported: signatures from text to text."""

from __future__ import annotations

import types
from collections.abc import Sequence

import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.quantization import StoredWeights
from tfnmt.shapes import function_of_texts
from tfnmt.text.framing import truncate
from tfnmt.text.tokenizers import END, PADDING
from tfnmt.translation.ensemble import Ensemble
from tfnmt.translation.postprocessing import to_width
from tfnmt.translation.scoring import log_probabilities
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.shortlist import Shortlist
from tfnmt.translation.signatures import ALTERNATIVES, LIMITS, signatures
from tfnmt.translation.translator import Translator

LARGEST = 100_000
"""Characters of a batch of translations to score, with padding, at most: the logits of all tokens are in memory."""


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
        with_attention = Searcher(ensemble, search.replace(alignments=ensemble.has_attention), shortlist)
        greedy = {"method": "greedy", "n_best": 1, "coverage_penalty": 0.0}
        one_by_one = Searcher(ensemble, search.replace(**greedy, alignments=False), shortlist)
        # What `tf.Module` must not track. Models: their variables would be saved beside those of `StoredWeights`.
        # Functions: `tf.saved_model.save` would trace each once more, where the signatures' traces are enough.
        self._untracked = types.SimpleNamespace(ensemble=ensemble)
        self.tokenizers = [ensemble.source_tokenizer, ensemble.target_tokenizer]
        self.weights = (
            ensemble.int8_weights(search.float32_products)
            if self._multiplies_in_int8
            else StoredWeights(ensemble.models, precision)
        )
        if self._multiplies_in_int8:
            self.options["int8_levels"] = self.weights.levels
        self._untracked.best = function_of_texts(lambda text: self._find(searcher, text), "text")
        self._untracked.completed = function_of_texts(
            lambda text, prefix: self._find(with_attention, text, prefix), "text", "prefix"
        )
        self._untracked.alternatives = function_of_texts(
            lambda text, prefix: self._find(one_by_one, text, prefix, alternatives=ALTERNATIVES), "text", "prefix"
        )
        self.documentation = signatures(ensemble.has_attention)
        inputs = {name: list(signature["inputs"]) for name, signature in self.documentation.items()}
        self._untracked.functions = {
            name: function_of_texts(getattr(self, f"_{name}"), *keys) for name, keys in inputs.items()
        }
        source, target = (function_of_texts(_check(tokenizer), "text") for tokenizer in self.tokenizers)
        self.checks = {
            name: {key: target if key in ("target", "prefix") else source for key in keys}
            for name, keys in inputs.items()
        }
        longest = ensemble.maximum_source_length  # more would be cut without a word
        self.limits = {
            name: LIMITS[name] | {"text_tokens": min(LIMITS[name]["text_tokens"], longest)} for name in inputs
        }

    @property
    def functions(self) -> dict[str, tf.types.experimental.PolymorphicFunction]:
        """The `tf.function` of each signature."""
        return self._untracked.functions

    def _find(self, searcher, *inputs, **options):
        if self._multiplies_in_int8:
            return searcher.find(*inputs, **options)  # which uses the same weights itself
        with self.weights.in_use(self._untracked.ensemble.models):
            return searcher.find(*inputs, **options)

    def _serving_default(self, text):
        found = self._untracked.best(text)
        return {"translation": found.texts[:, 0], "score": found.scores[:, 0]}

    def _nbest(self, text):
        found = self._untracked.best(text)
        return {"translations": found.texts, "scores": found.scores}

    def _align(self, text):
        outputs = self.functions["complete"](text, tf.fill(tf.shape(text), ""))
        names = ("source_words", "target_words", "attention")
        return {"translation": outputs["translations"][:, 0], **{name: outputs[name] for name in names}}

    def _complete(self, text, prefix):
        prefix = _as_many(text, prefix, "prefixes as texts")
        ensemble, found = self._untracked.ensemble, self._untracked.completed(text, prefix)
        source = ensemble.source_ids(text)
        written = ensemble.source_tokenizer.surface_forms(truncate(text, ensemble.maximum_source_length))
        outputs = {
            "translations": found.texts,
            "scores": found.scores,
            "source_words": _words(ensemble.source_tokenizer, source),
            # Where END is read, a text that is cut has its next word.
            "source_written": tf.where(source == END, "", to_width(written, tf.shape(source)[1])),
            "target_words": _words(ensemble.target_tokenizer, found.ids[:, 0]),
        }
        return outputs | ({"attention": found.attention[:, 0]} if ensemble.has_attention else {})

    def _alternatives(self, text, prefix):
        found = self._untracked.alternatives(text, _as_many(text, prefix, "prefixes as texts"))
        return {
            "translations": tf.reshape(found.texts, [-1, ALTERNATIVES]),
            "probabilities": tf.reshape(found.next_probabilities, [-1, ALTERNATIVES]),
        }

    def _score(self, source, target):
        target = _as_many(source, target, "targets as sources")
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


def _check(tokenizer):
    """What `tfnmt.serving.export.Servable.checks` says. Any text can be translated."""

    def check(text):
        tokens = tf.cast(tokenizer.encode(text).row_lengths(), tf.int32)
        return {"tokens": tokens, "problem": tf.fill(tf.shape(text), "")}

    return check


def _as_many(first, second, names):
    """`second`, which has as many texts as `first`."""
    same = tf.debugging.Assert(tf.equal(tf.size(first), tf.size(second)), [f"there must be as many {names}"])
    with tf.control_dependencies([same]):
        return tf.identity(second)


def _words(tokenizer, ids):
    """Ids → their words, "" where there is padding."""
    return tf.where(ids == PADDING, "", tokenizer.ids_to_tokens(ids))
