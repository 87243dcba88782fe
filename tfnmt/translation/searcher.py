"""From text to text: a search over one translator or several, in the graph."""

import concurrent.futures
import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.devices import on_cpu
from tfnmt.processors import processors
from tfnmt.search.beam import beam_search
from tfnmt.search.constraints import (
    Constraint,
    ban_tokens,
    block_repeated_ngrams,
    choose_by_rank,
    constrain,
    force_prefix,
    require_minimum_length,
)
from tfnmt.search.greedy import greedy_search
from tfnmt.search.sampling import sample
from tfnmt.search.step import NEG_INF
from tfnmt.shapes import function_of_texts
from tfnmt.text.characters import require_texts
from tfnmt.text.framing import truncate
from tfnmt.text.tokenizers import END, PADDING, START, UNKNOWN
from tfnmt.translation.ensemble import Ensemble, as_ensemble
from tfnmt.translation.postprocessing import Translations, postprocess
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.shortlist import Shortlist

SMALLEST_SHARE = 8
"""Fewer texts than these are translated together rather than by several threads: a step takes hardly less time."""


class Searcher(tf.Module):
    """Searches for translations.

    As a `tf.Module` it brings models and tokenizers into the SavedModel of whatever has it as an attribute.

    Args:
        models: a `Translator`, or several (an ensemble): the mean of their probabilities counts.
        configuration: a `SearchConfiguration`; None for its defaults. With precision=int8, the models' weights count as
            they are now, whatever becomes of them.
        shortlist: a `Shortlist`, whose words alone are scored, or None for the whole vocabulary.
        constraints: further constraints on what is written, see `tfnmt.search.constraints`; not with a shortlist.

    Raises:
        TypeError: the configuration is something else.
        UserError: the models do not share their vocabularies, have no attention where it is needed, a banned word is no
            token, or the shortlist is of other vocabularies or does not go with constraints.
    """

    def __init__(
        self,
        models: Ensemble | keras.Model | Sequence[keras.Model],
        configuration: SearchConfiguration | None = None,
        shortlist: Shortlist | None = None,
        constraints: Sequence[Constraint] = (),
    ):
        super().__init__(name="searcher")
        self.ensemble = as_ensemble(models)
        self.configuration = c = SearchConfiguration() if configuration is None else configuration
        if not isinstance(c, SearchConfiguration):
            raise TypeError(f"the configuration is a SearchConfiguration, not {type(c).__name__}")
        self.shortlist = shortlist
        allowed = "none with a shortlist, which renumbers the ids"
        require(not (shortlist and constraints), "constraints", len(constraints), allowed)
        self._further_constraints = tuple(constraints)
        if shortlist:
            shortlist.check(self.ensemble.source_tokenizer, self.ensemble.target_tokenizer)
        self._banned = [PADDING, START, *([UNKNOWN] if c.no_unknown else []), *self._ids_of(c.banned_words)]
        for key in ("alignments", "replace_unknown", "coverage_penalty"):
            allowed = "false or 0 for a model without attention"
            require(self.ensemble.has_attention or not getattr(c, key), key, getattr(c, key), allowed)
        self._with_attention = c.alignments or c.replace_unknown or c.coverage_penalty > 0
        self._weights = self.ensemble.int8_weights(c.float32_products) if c.precision == "int8" else None
        self._functions = functools.cache(self._new_function)  # a SavedModel must not keep those that were traced here

    def find(
        self,
        texts: tf.Tensor,
        prefixes: tf.Tensor | None = None,
        keys: tf.Tensor | None = None,
        alternatives: int | None = None,
    ) -> Translations:
        """Translate texts, in the graph.

        Args:
            texts: string [batch].
            prefixes: string [batch], what each translation is to begin with, whole words; "" for anything.
            keys: int [batch], for sampling: what a sentence's tokens depend on, beside the seed. By default a hash of
                the text, so that the same text is translated the same.
            alternatives: with prefixes: so many translations of each text, one after the other in the batch, which go
                on after the prefix with the most probable token, the second, and so on. None: nothing is asked for.

        Raises:
            UserError: there are alternatives below 1, or without prefixes.
        """
        if alternatives is not None:
            require(alternatives >= 1, "alternatives", alternatives, "a whole number from 1")
            require(prefixes is not None, "alternatives", alternatives, "None without prefixes")
            texts, prefixes = (tf.repeat(x, alternatives) for x in (texts, prefixes))
        with self._weights.in_use(self.ensemble.models) if self._weights else contextlib.nullcontext():
            return self._find(texts, prefixes, keys, alternatives)

    def _find(self, texts, prefixes, keys, alternatives):
        c, ensemble = self.configuration, self.ensemble
        texts = truncate(texts, ensemble.maximum_source_length)
        source = ensemble.source_ids(texts)
        prefix = None if prefixes is None else _ids(ensemble.target_tokenizer, prefixes)
        maximum_lengths = self._maximum_lengths(source, prefix, beyond_prefix=0 if alternatives is None else 1)
        candidates = self.shortlist.candidates(source, self._banned, prefix) if self.shortlist else None
        dtype = "bfloat16" if c.precision == "bfloat16" else None
        is_greedy = c.method != "sample" and c.hypotheses == 1 and not c.coverage_penalty
        normalized = c.scores or not is_greedy or alternatives is not None
        step, states, memory = ensemble.search_step(
            source, self._with_attention, candidates, dtype, normalized, c.hypotheses
        )
        banned: Any = self._banned
        if candidates is not None:  # which exclude them already, except from prefixes
            banned = None if prefix is None else candidates.positions(tf.constant(banned))
        constraints = self._constraints(maximum_lengths, banned)
        if prefix is None:
            step, states = constrain(step, states, constraints)
        else:
            prefix = prefix if candidates is None else candidates.positions(prefix)
            step, states = force_prefix(step, states, prefix, constraints)
        if alternatives is not None:
            ranks = tf.tile(tf.range(alternatives), [tf.size(texts) // alternatives])
            after = tf.math.count_nonzero(prefix, axis=1)
            step, states = choose_by_rank(step, states, ranks, alternatives, after, END)
        arguments = (step, states, memory, START, END, maximum_lengths)
        if c.method == "sample":
            keys = tf.strings.to_hash_bucket_fast(texts, 2**62) if keys is None else keys
            words = None if candidates is None else candidates.words
            result = sample(*arguments, c, c.seed, keys, words)
        elif is_greedy:
            result = greedy_search(*arguments)
            if not normalized:
                none = tf.where(result.scores > NEG_INF / 2, 0.0, NEG_INF)
                result = result._replace(scores=none, log_probabilities=none)
        else:
            step, memory = _with_source_mask(step, memory, source)
            coverage = functools.partial(_coverage, hypotheses=c.hypotheses)
            result = beam_search(step, states, memory, START, END, maximum_lengths, c, coverage, c.n_best)
        if candidates is not None:
            result = result._replace(ids=tf.gather(candidates.words, result.ids))
        result = tf.nest.map_structure(lambda x: x[:, : c.n_best], result)
        return postprocess(result, ensemble, c, source, texts, prefixes)

    def function(self, with_prefixes: bool = False) -> tf.types.experimental.PolymorphicFunction:
        """`find` as a `tf.function` of texts, or texts and prefixes, string [batch], traced once for any batch."""
        return self._functions(with_prefixes)

    def translate(
        self,
        texts: Sequence[str],
        batch_size: int = 64,
        prefixes: Sequence[str] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> list[Translations]:
        """Translate texts, those of similar length together, and as many batches at a time as there are processors: the
        products of one batch are too small to keep several busy.

        Args:
            texts: a list of strings.
            batch_size: texts translated at once, at most.
            prefixes: a list of strings, what each translation is to begin with, or None.
            advance: called after each batch with the number of its texts.

        Returns:
            A `Translations` for each text, of arrays [n, ...] without the batch's dimension.

        Raises:
            UserError: one string in place of a list, something that is no string, half a surrogate pair, not as many
                prefixes as texts, or a batch size below 1.
        """
        require_texts("texts", texts)
        require_texts("prefixes", () if prefixes is None else prefixes)
        require(batch_size >= 1, "batch_size", batch_size, "a whole number from 1")
        require(
            prefixes is None or len(prefixes) == len(texts),
            "prefixes",
            0 if prefixes is None else len(prefixes),
            f"as many as texts: {len(texts)}",
        )
        function = self.function(prefixes is not None)
        function.get_concrete_function()  # traced here, not by several threads at once
        sides = [texts] if prefixes is None else [texts, prefixes]

        def search(batch):
            found = function(*(tf.constant([side[i] for i in batch], tf.string) for side in sides))
            return [None if x is None else x.numpy() for x in found]

        threads = tf.config.threading.get_inter_op_parallelism_threads() or processors()  # 0: TensorFlow's default
        batches = batches_for_threads(texts, batch_size, threads)
        translations: list[Any] = [None] * len(texts)
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for batch, found in zip(batches, pool.map(search, batches), strict=True):
                for row, i in enumerate(batch):
                    translations[i] = Translations(*(None if x is None else x[row] for x in found))
                if advance:
                    advance(len(batch))
        return translations

    def _new_function(self, with_prefixes):
        return function_of_texts(self.find, *("texts", "prefixes")[: 1 + with_prefixes])

    def _ids_of(self, words):
        """The ids of words, each a token of its own."""
        ids = self.ensemble.target_tokenizer.encode(tf.constant(words, tf.string)).to_list() if words else []
        for word, tokens in zip(words, ids, strict=True):
            allowed = "words that are one token of the target vocabulary"
            require(len(tokens) == 1 and tokens[0] != UNKNOWN, "banned_words", word, allowed)
        return [token for (token,) in ids]

    def _maximum_lengths(self, source, prefix, beyond_prefix):
        """Tokens of each translation at most, int32 [batch]: 0 for a source without words."""
        c = self.configuration
        words = tf.reduce_sum(tf.cast(_is_word(source), tf.int32), axis=1)
        lengths = tf.cast(c.maximum_length_factor * tf.cast(words, tf.float32), tf.int32) + c.maximum_length_offset
        if prefix is not None:
            lengths = tf.maximum(lengths, tf.math.count_nonzero(prefix, axis=1, dtype=tf.int32) + beyond_prefix)
        return tf.where(words == 0, 0, lengths)

    def _constraints(self, maximum_lengths, banned):
        c = self.configuration
        constraints = [] if banned is None else [functools.partial(ban_tokens, banned=banned)]
        if c.no_repeat_ngram:
            limits = {"n": c.no_repeat_ngram, "maximum_lengths": maximum_lengths}
            constraints.append(functools.partial(block_repeated_ngrams, **limits))
        if c.minimum_length:
            limits = {"minimum_lengths": tf.fill(tf.shape(maximum_lengths), c.minimum_length), "end": END}
            constraints.append(functools.partial(require_minimum_length, **limits))
        return [*constraints, *self._further_constraints]


def batches_for_threads(texts: Sequence[str], batch_size: int, threads: int) -> list[list[int]]:
    """As `batches_by_length`, in smaller batches if there is not a whole one for each of so many threads."""
    share = max(SMALLEST_SHARE, -(-len(texts) // threads))
    return batches_by_length(texts, min(batch_size, share))


def batches_by_length(texts: Sequence[str], batch_size: int) -> list[list[int]]:
    """Indices of texts in batches of similar length."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    return [order[first : first + batch_size] for first in range(0, len(order), batch_size)]


@on_cpu
def _ids(tokenizer, texts):
    """Strings [batch] → int32 [batch, length], padded."""
    return tokenizer.encode(texts).to_tensor(PADDING)


def _is_word(source):
    return (source != PADDING) & (source != END)


def _with_source_mask(step, memory, source):
    """`step` and its memory, to which it adds where the source has words, for `_coverage`."""

    def masked_step(ids, states, memory):
        return step(ids, states, memory["memory"])

    return masked_step, {"memory": memory, "is_word": _is_word(source)}


def _coverage(auxiliary, memory, hypotheses):
    """What `beam_search` asks for: the attention of a step, [rows, source_length], 1 where the source has no word."""
    attention = auxiliary["attention"]
    is_word = memory["is_word"][:, tf.newaxis]
    of_sentences = tf.reshape(attention, [tf.shape(is_word)[0], hypotheses, tf.shape(attention)[1]])
    return tf.reshape(tf.where(is_word, of_sentences, 1.0), tf.shape(attention))
