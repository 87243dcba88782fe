"""From text to text: the searches over one translator or several, in the graph."""

import concurrent.futures
import functools
from typing import NamedTuple

import tensorflow as tf

from tfnmt.configuration import require
from tfnmt.errors import UserError
from tfnmt.search.beam import beam_search
from tfnmt.search.constraints import (
    ban_tokens,
    block_repeated_ngrams,
    constrain,
    force_prefix,
    require_minimum_length,
)
from tfnmt.search.greedy import greedy_search
from tfnmt.search.sampling import sample
from tfnmt.search.step import ensemble
from tfnmt.text.tokenizers import END, PADDING, START, UNKNOWN
from tfnmt.threads import processors
from tfnmt.translation.alignment import attended, pharaoh, word_attention, word_numbers
from tfnmt.translation.search_configuration import SearchConfiguration


class Translations(NamedTuple):
    """What a search has found: n translations of each text, the best first. Tensors all, and two that may be None.

    A text without words has an empty translation. Where a beam has found fewer than n, the last are empty and their
    scores `tfnmt.search.step.NEG_INF`.
    """

    texts: tf.Tensor
    """string [batch, n]."""
    scores: tf.Tensor
    """float32 [batch, n]: what they are ordered by; the log-probability, but for a beam's penalties."""
    log_probabilities: tf.Tensor
    """float32 [batch, n]: Σ log p of the tokens and of END."""
    ids: tf.Tensor
    """int32 [batch, n, length]: the tokens, 0 after the last."""
    lengths: tf.Tensor
    """int32 [batch, n]: how many."""
    attention: tf.Tensor | None
    """float32 [batch, n, length, source_length]: α of every token, if `alignments` are asked for."""
    alignments: tf.Tensor | None
    """string [batch, n]: Pharaoh pairs source-target of words, such as "0-0 1-2", if they are asked for."""


class Searcher(tf.Module):
    """Looks for translations.

    As a `tf.Module` it brings models and tokenizers into the SavedModel of whatever has it as an attribute.

    Args:
        models: a `Translator`, or a list of them: an ensemble, which takes the mean of their probabilities.
        configuration: a `SearchConfiguration`.
        shortlist: a `Shortlist`, whose words alone are scored, or None for all words.

    Raises:
        UserError: the models do not share their vocabularies, have no attention where it is needed, a banned word is no
            token, or the shortlist is of other vocabularies.
    """

    def __init__(self, models, configuration=None, shortlist=None):
        super().__init__(name="searcher")
        self.models = list(models) if isinstance(models, list | tuple) else [models]
        self.configuration = c = configuration or SearchConfiguration()
        require(len(self.models) > 0, "models", len(self.models), "one or more")
        # What is too long for it is cut for all.
        self.reader = min(self.models, key=lambda model: model.configuration.maximum_source_length)
        self.source_tokenizer, self.target_tokenizer = (_shared(self.models, side) for side in ("source", "target"))
        self.shortlist = shortlist
        if shortlist:
            shortlist.check(self.source_tokenizer.vocabulary_size, self.target_tokenizer.vocabulary_size)
        self._banned = [PADDING, START, *([UNKNOWN] if c.no_unknown else []), *self._ids_of(c.banned_words)]
        has_attention = all(model.configuration.attention != "none" for model in self.models)
        for key in ("alignments", "replace_unknown", "coverage_penalty"):
            allowed = "false or 0 for a model without attention"
            require(has_attention or not getattr(c, key), key, getattr(c, key), allowed)
        self._with_attention = c.alignments or c.replace_unknown or c.coverage_penalty > 0
        self._functions = functools.cache(self._new_function)  # a SavedModel must not keep those that were traced here

    def find(self, texts, prefixes=None, keys=None):
        """Translate texts, in the graph.

        Args:
            texts: string [batch].
            prefixes: string [batch], what each translation is to begin with, whole words; "" is nothing.
            keys: int [batch], for sampling: what a sentence's words depend on, beside the seed. By default a hash of
                the text, so that the same text is translated the same.

        Returns:
            A `Translations`.
        """
        c = self.configuration
        source = self.reader.source_ids(texts)
        prefix = None if prefixes is None else self.target_tokenizer.encode(prefixes).to_tensor(PADDING)
        maximum_lengths = self._maximum_lengths(source, prefix)
        constraints = []
        if self.shortlist:
            candidates = self.shortlist.candidates(source, self._banned, prefix)
            step, states, memory = self._step(source, candidates)
            prefix = None if prefix is None else candidates.places(prefix)
        else:
            step, states, memory = self._step(source)
            constraints.append(functools.partial(ban_tokens, banned=self._banned))
        if c.no_repeated_ngram:
            constraints.append(
                functools.partial(block_repeated_ngrams, n=c.no_repeated_ngram, maximum_lengths=maximum_lengths)
            )
        if c.minimum_length:
            minimum_lengths = tf.fill(tf.shape(texts), c.minimum_length)
            constraints.append(functools.partial(require_minimum_length, minimum_lengths=minimum_lengths, end=END))
        if prefix is None:
            step, states = constrain(step, states, constraints)
        else:
            step, states = force_prefix(step, states, prefix, constraints)
        if c.method == "sample":
            keys = tf.strings.to_hash_bucket_fast(texts, 2**62) if keys is None else keys
            found = sample(step, states, memory, START, END, maximum_lengths, c, c.seed, keys)
        elif c.rows == 1 and not c.coverage_penalty:
            found = greedy_search(step, states, memory, START, END, maximum_lengths)
        else:
            step, memory = _knowing_words(step, memory, source)
            found = beam_search(step, states, memory, START, END, maximum_lengths, c, _coverage, c.n_best)
        if self.shortlist:
            found = found._replace(ids=tf.gather(candidates.words, found.ids))
        found = tf.nest.map_structure(lambda x: x[:, : c.n_best], found)
        return self._translations(found, source, texts, prefixes)

    def function(self, with_prefixes=False):
        """`find` as a `tf.function` of texts, or texts and prefixes, string [batch], traced once for any batch."""
        return self._functions(with_prefixes)

    def translate(self, texts, batch_size=64, prefixes=None):
        """Translate texts, those of like length together, and as many batches side by side as there are processors: the
        products of one batch are too small to keep several busy.

        Args:
            texts: a list of strings.
            batch_size: texts translated at once.
            prefixes: a list of strings, what each translation is to begin with, or None.

        Returns:
            A list, for each text, of the rows of `Translations` that are its own: a `Translations` of arrays
            [n, ...] without a batch's dimension.
        """
        function = self.function(prefixes is not None)
        function.get_concrete_function()  # traced here, not by several threads at once
        sides = [texts] if prefixes is None else [texts, prefixes]

        def search(batch):
            found = function(*(tf.constant([side[i] for i in batch], tf.string) for side in sides))
            return [None if x is None else x.numpy() for x in found]

        batches = like_lengths(texts, batch_size)
        translations = [None] * len(texts)
        threads = tf.config.threading.get_inter_op_parallelism_threads() or processors()  # TensorFlow's, told or not
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for batch, found in zip(batches, pool.map(search, batches), strict=True):
                for row, i in enumerate(batch):
                    translations[i] = Translations(*(None if x is None else x[row] for x in found))
        return translations

    def _new_function(self, with_prefixes):
        signature = [tf.TensorSpec([None], tf.string)] * (1 + with_prefixes)
        return tf.function(self.find, input_signature=signature, autograph=False)

    def _ids_of(self, words):
        """The ids of words, each a token of its own."""
        ids = self.target_tokenizer.encode(tf.constant(words, tf.string)).to_list() if words else []
        for word, tokens in zip(words, ids, strict=True):
            allowed = "words that are one token of the target vocabulary"
            require(len(tokens) == 1 and tokens[0] != UNKNOWN, "banned_words", word, allowed)
        return [token for (token,) in ids]

    def _maximum_lengths(self, source, prefix):
        """Tokens of each translation at most, int32 [batch]: 0 for a source without words."""
        c = self.configuration
        words = tf.reduce_sum(tf.cast((source != PADDING) & (source != END), tf.int32), axis=1)
        lengths = tf.cast(c.maximum_length_factor * tf.cast(words, tf.float32), tf.int32) + c.maximum_length_offset
        if prefix is not None:
            lengths = tf.maximum(lengths, tf.math.count_nonzero(prefix, axis=1, dtype=tf.int32))
        return tf.where(words == 0, 0, lengths)

    def _step(self, source, candidates=None):
        """Step, first states and memory of the model, or of all of them together; attention is noted if needed."""
        c = self.configuration
        options = (self._with_attention, candidates, None if c.precision == "float32" else c.precision)
        parts = [model.search_step(source, *options) for model in self.models]
        if len(parts) == 1:
            return parts[0]
        steps, states, memories = zip(*parts, strict=True)
        return ensemble(steps), states, memories

    def _translations(self, found, source, texts, prefixes):
        """What a search has found, as text."""
        attention, alignments = found.auxiliary.get("attention"), None
        unknown = self._in_place_of_unknown(found, source, texts, prefixes)
        rows = [tf.size(found.lengths), tf.shape(found.ids)[2]]
        unknown = None if unknown is None else tf.reshape(unknown, rows)
        written = self.target_tokenizer.decode(tf.reshape(found.ids, rows), unknown)
        if self.configuration.alignments:
            target_words = word_numbers(self.target_tokenizer, found.ids)
            of_words = word_attention(attention, word_numbers(self.source_tokenizer, source), target_words)
            alignments = pharaoh(of_words, target_words)
        return Translations(
            tf.reshape(written, tf.shape(found.lengths)),
            found.scores,
            found.log_probabilities,
            found.ids,
            found.lengths,
            attention if self.configuration.alignments else None,
            alignments,
        )

    def _in_place_of_unknown(self, found, source, texts, prefixes):
        """What is written for UNKNOWN at every place, string [batch, n, length]; None where that is always "<unk>".

        In a prefix it is what stands there, and elsewhere, if that is asked for, the source word attended to.
        """
        if prefixes is None and not self.configuration.replace_unknown:
            return None
        shape = tf.shape(found.ids)
        written = tf.fill(shape, "<unk>")
        if self.configuration.replace_unknown:
            surfaces = _as_wide(self.source_tokenizer.surface_forms(texts), tf.shape(source)[1])
            written = attended(found.auxiliary["attention"], source, surfaces)
        if prefixes is not None:
            of_prefix = self.target_tokenizer.surface_forms(prefixes)
            in_prefix = tf.sequence_mask(of_prefix.row_lengths(), shape[2])[:, tf.newaxis]
            written = tf.where(in_prefix, _as_wide(of_prefix, shape[2])[:, tf.newaxis], written)
        return written


def like_lengths(texts, batch_size):
    """Numbers of texts in batches, those of like length together: a list of lists."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    return [order[first : first + batch_size] for first in range(0, len(order), batch_size)]


def _as_wide(words, width):
    """Ragged strings [batch, (length)] → [batch, width], cut or padded with ""."""
    dense = tf.pad(words.to_tensor(""), [[0, 0], [0, width]])  # longer than needed, never shorter
    return dense[:, :width]


def _knowing_words(step, memory, source):
    """`step` and its memory, which then knows too where the source has words."""

    def step_of_more(ids, states, memory):
        return step(ids, states, memory["of_step"])

    return step_of_more, {"of_step": memory, "is_word": (source != PADDING) & (source != END)}


def _coverage(auxiliary, memory):
    """What `beam_search` asks for: a step's attention, 1 at places that are no word."""
    return tf.where(memory["is_word"], auxiliary["attention"], 1.0)


def _shared(models, side):
    """The tokenizer of one side that all models have."""
    tokenizers = [getattr(model, f"{side}_tokenizer") for model in models]
    for number, tokenizer in enumerate(tokenizers[1:], start=2):
        if tokenizer is not tokenizers[0] and tokenizer.get_config() != tokenizers[0].get_config():
            raise UserError(
                f"model 1 and model {number} of the ensemble differ in their {side} vocabulary; only models trained"
                " with the same tokenizers can be searched together"
            )
    return tokenizers[0]
