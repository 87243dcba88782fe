"""Minimum risk training: a model learns from translations of its own, by their BLEU (Shen et al. 2016).

Cross-entropy asks for each next word of one translation, after words that are all correct. A search writes whole
translations, and BLEU is what they are judged by. Here several are drawn for each source, and those with a better BLEU
than the others become more probable (arXiv:1512.02433, equations 7 to 10).
"""

from typing import Any

import keras
import tensorflow as tf

from tfnmt.devices import on_cpu
from tfnmt.search.constraints import ban_tokens
from tfnmt.search.greedy import generate
from tfnmt.search.step import NEG_INF
from tfnmt.text.framing import decoder_inputs, with_end
from tfnmt.text.tokenizers import END, PADDING, START, Tokenizer
from tfnmt.training.losses import word_losses
from tfnmt.translation.ensemble import search_step
from tfnmt.translation.sentence_bleu import sentence_bleu

LENGTH_FACTOR, LENGTH_OFFSET = 1.5, 10
"""A drawn translation has at most so many times the tokens of the given one, and so many more."""


def risk(
    model: keras.Model,
    source: tf.Tensor,
    target: tf.Tensor,
    samples: int,
    sharpness: float,
    temperature: float,
    seed: tf.Tensor,
) -> tf.Tensor:
    """The mean of `expected_loss` over a batch, with a loss of 1 − BLEU, in words of the detokenized texts.

    Args:
        model: a `Translator`, which draws without dropout and is trained with it.
        source, target: int32 [batch, source_length], [batch, target_length]: the source as the encoder reads it, and
            the labels of its given translation.
        samples: translations drawn of each source.
        sharpness: α of `expected_loss`.
        temperature: logits are divided by it where translations are drawn. The nearer to 0, the nearer they are to what
            a search finds; of a model that was trained with label smoothing, those at 1 are much worse.
        seed: int32 [2].

    Returns:
        A scalar.
    """
    ids = tf.stop_gradient(draw_translations(model, source, target, samples, temperature, seed))
    losses = 1.0 - tf.reshape(_bleu(model.target_tokenizer, ids, tf.repeat(target, samples, axis=0)), [-1, samples])
    log_p = tf.reshape(_log_probabilities(model, source, ids, samples), [-1, samples])
    counted = ~_drawn_before(tf.reshape(ids, [-1, samples, tf.shape(ids)[1]]))
    return tf.reduce_mean(expected_loss(log_p, losses, counted, sharpness))


def expected_loss(log_p: tf.Tensor, losses: tf.Tensor, counted: tf.Tensor, sharpness: float) -> tf.Tensor:
    """Σ_k Q(y_k) Δ(y_k) of each source, with Q(y_k) = p(y_k)^α / Σ_l p(y_l)^α.

    Args:
        log_p: float [batch, samples], log p(y_k) of the drawn translations.
        losses: float [batch, samples], Δ(y_k); no gradient goes through them.
        counted: bool [batch, samples], whether a translation is one of the set: Q is over different ones.
        sharpness: α; the smaller, the more alike are the Q of probable and improbable translations.

    Returns:
        float [batch].
    """
    q = tf.nn.softmax(tf.where(counted, sharpness * log_p, NEG_INF))
    return tf.reduce_sum(q * tf.stop_gradient(losses), axis=1)


def draw_translations(
    model: keras.Model, source: tf.Tensor, target: tf.Tensor, samples: int, temperature: float, seed: tf.Tensor
) -> tf.Tensor:
    """Translations that are drawn word by word from the model's probabilities, without dropout.

    Args: as for `risk`.

    Returns:
        int32 [batch · samples, length], without END, padded: those of one source stand one after the other.
    """
    step, states, memory = search_step(model, source, normalized=False)
    step, states = ban_tokens(step, states, [PADDING, START])
    states, memory = tf.nest.map_structure(lambda x: tf.repeat(x, samples, axis=0), (states, memory))
    lengths = tf.cast(tf.math.count_nonzero(target, axis=1), tf.float32)
    maximum_lengths = tf.repeat(tf.cast(LENGTH_FACTOR * lengths, tf.int32) + LENGTH_OFFSET, samples)

    # Replicas have neighbouring seeds, and so do the steps below: unfolded, one would draw what another draws next.
    seed = tf.random.fold_in(seed, 0)

    def draw(i, logits, sentence_indices):
        return tf.random.stateless_categorical(logits / temperature, 1, seed + tf.stack([i, 0]), tf.int64)[:, 0]

    return generate(step, states, memory, START, END, maximum_lengths, draw).ids[:, 0]


def _log_probabilities(model, source, ids, samples):
    """log p(y | x) in training, of y = `ids` [batch · samples, length] and END: [batch · samples]."""
    drawn = tf.RaggedTensor.from_tensor(ids, padding=PADDING)
    words = with_end(drawn).to_tensor(PADDING)
    encoded = model.encoder(source, training=True)
    encoded = tf.nest.map_structure(lambda x: tf.repeat(x, samples, axis=0), encoded)
    logits = model.decoder(decoder_inputs(drawn).to_tensor(PADDING), encoded, training=True)
    return -tf.reduce_sum(tf.where(words != PADDING, word_losses(words, logits), 0.0), axis=1)


def _drawn_before(ids):
    """Whether an earlier one of the same source is the same: [batch, samples, length] → bool [batch, samples]."""
    same = tf.reduce_all(ids[:, :, tf.newaxis] == ids[:, tf.newaxis], axis=3)
    return tf.reduce_any(tf.linalg.band_part(same, -1, 0) & ~tf.eye(tf.shape(ids)[1], dtype=tf.bool), axis=2)


@on_cpu
def _bleu(tokenizer: Tokenizer, ids: tf.Tensor, target: tf.Tensor) -> Any:
    """BLEU of the texts that two batches of tokens stand for: [rows, length] twice → [rows]."""
    hypotheses, references = (_words(tokenizer, x) for x in (ids, target))
    return sentence_bleu(hypotheses, references)


def _words(tokenizer, ids):
    """The words of the texts, one number for each word: int32 [rows, length] → int64 [rows, words]."""
    words = tf.strings.split(tokenizer.decode(ids))
    return (tf.strings.to_hash_bucket_fast(words, 2**62) + 1).to_tensor(0)
