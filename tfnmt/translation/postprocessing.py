"""From a search result to text: tokens to strings, unknown words replaced, alignments."""

from typing import NamedTuple

import tensorflow as tf

from tfnmt.devices import on_cpu
from tfnmt.search.step import SearchResult
from tfnmt.translation.alignment import attended_surface_forms, pharaoh, word_attention, word_indices
from tfnmt.translation.ensemble import Ensemble
from tfnmt.translation.search_configuration import SearchConfiguration


class Translations(NamedTuple):
    """n translations of each text, best first. All are tensors, and three may be None.

    A text without words has an empty translation. Where a beam search has found fewer than n, the last are empty and
    their scores are `tfnmt.search.step.NEG_INF`.
    """

    texts: tf.Tensor
    """string [batch, n]."""
    scores: tf.Tensor
    """float32 [batch, n]: what they are ordered by: the log-probability, which `beam_search` divides by the length and
    adds the coverage penalty to; greedy search, as a beam of 1 without that penalty is, and sampling do not. 0 where
    none are computed."""
    log_probabilities: tf.Tensor
    """float32 [batch, n]: Σ log p of the tokens and of END; 0 where none are computed."""
    ids: tf.Tensor
    """int32 [batch, n, length]: the tokens, 0 after the last."""
    lengths: tf.Tensor
    """int32 [batch, n]: the number of tokens."""
    attention: tf.Tensor | None
    """float32 [batch, n, length, source_length]: α of every token, if `alignments` are asked for."""
    alignments: tf.Tensor | None
    """string [batch, n]: Pharaoh pairs source-target of words, such as "0-0 1-2", if they are asked for."""
    next_probabilities: tf.Tensor | None
    """float32 [batch, n]: of the token after the prefix, if alternatives are asked for; 0 where none was found."""


@on_cpu
def postprocess(
    result: SearchResult,
    ensemble: Ensemble,
    configuration: SearchConfiguration,
    source: tf.Tensor,
    texts: tf.Tensor,
    prefixes: tf.Tensor | None,
) -> Translations:
    """A search result as text.

    Args:
        result: over ids of the target vocabulary; where the configuration needs attention, with {"attention": α} as
            auxiliary outputs.
        ensemble: whose tokenizers are used.
        configuration: of the search.
        source: int32 [batch, source_length], the ids of `texts`.
        texts, prefixes: string [batch], what was translated, and what translations were to begin with, or None.
    """
    rows = [tf.size(result.lengths), tf.shape(result.ids)[2]]
    unknown = _unknown_surface_forms(result, ensemble, configuration, source, texts, prefixes)
    unknown = None if unknown is None else tf.reshape(unknown, rows)
    written = ensemble.target_tokenizer.decode(tf.reshape(result.ids, rows), unknown)
    attention = alignments = None
    if configuration.alignments:
        attention = result.auxiliary["attention"]
        target_words = word_indices(ensemble.target_tokenizer, result.ids)
        source_words = word_indices(ensemble.source_tokenizer, source)
        alignments = pharaoh(word_attention(attention, source_words, target_words), target_words)
    next_probabilities = None
    if "log_p_of_rank" in result.auxiliary:
        log_p = tf.reduce_sum(result.auxiliary["log_p_of_rank"], axis=2)
        next_probabilities = tf.where(result.lengths > 0, tf.exp(log_p), 0.0)
    return Translations(
        tf.reshape(written, tf.shape(result.lengths)),
        result.scores,
        result.log_probabilities,
        result.ids,
        result.lengths,
        attention,
        alignments,
        next_probabilities,
    )


def _unknown_surface_forms(result, ensemble, configuration, source, texts, prefixes):
    """What is written for UNKNOWN at every position, string [batch, n, length]; None if always "<unk>".

    In a prefix it is what the prefix has there; elsewhere, with `replace_unknown`, the source word attended to.
    """
    if prefixes is None and not configuration.replace_unknown:
        return None
    shape = tf.shape(result.ids)
    written = tf.fill(shape, "<unk>")
    if configuration.replace_unknown:
        surfaces = to_width(ensemble.source_tokenizer.surface_forms(texts), tf.shape(source)[1])
        written = attended_surface_forms(result.auxiliary["attention"], source, surfaces)
    if prefixes is not None:
        prefix_forms = ensemble.target_tokenizer.surface_forms(prefixes)
        in_prefix = tf.sequence_mask(prefix_forms.row_lengths(), shape[2])[:, tf.newaxis]
        written = tf.where(in_prefix, to_width(prefix_forms, shape[2])[:, tf.newaxis], written)
    return written


def to_width(words: tf.RaggedTensor, width: tf.Tensor) -> tf.Tensor:
    """Ragged strings [batch, (length)] → [batch, width], cut or padded with ""."""
    dense = tf.pad(words.to_tensor(""), [[0, 0], [0, width]])  # longer than needed, never shorter
    return dense[:, :width]
