"""Multiplications of translators, ours counted while they run, JoeyNMT's by the shapes of its weights."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt_programs.benchmarks.joeynmt_peer import joeynmt_multiplications
from tfnmt_programs.benchmarks.translator_training import our_model
from tfnmt_programs.benchmarks.untrained import untrained_translator
from tfnmt_programs.benchmarks.work import (
    Multiplications,
    flop_per_target_word,
    forward_multiplications,
    training_flop_per_target_word,
    translator_multiplications,
)
from tfnmt_programs.operations import multiplications, number_of_operations

# Two pairs: 3 and 1 source words, 2 and 2 target words.
SOURCE = np.array([[5, 6, 3], [3, 0, 0]])
LABELS = np.array([[7, 3], [8, 3]])
BATCH = ({"source": SOURCE, "target": LABELS}, LABELS)


def test_operations_are_counted():
    x = tf.ones([2])
    assert number_of_operations(lambda: tf.tanh(x * x + x)) == 3
    assert number_of_operations(lambda: None) == 0


def test_products_are_counted_in_loops_too():
    x, W = tf.ones([2, 3]), tf.ones([3, 3])
    assert multiplications(lambda: tf.matmul(tf.ones([7, 2, 3]), tf.ones([7, 4, 3]), transpose_b=True)) == 7 * 2 * 3 * 4
    loop = lambda: tf.while_loop(lambda i, _: i < 5, lambda i, x: (i + 1, x @ W), (0, x))  # noqa: E731
    assert multiplications(loop) == 5 * 2 * 3 * 3


def test_multiplications_of_a_batch_by_hand():
    counts = Multiplications(source_word=1000, sentence=100, target_word=10, word_pair=1)
    by_hand = 4 * 1000 + 2 * 100 + 4 * 10 + (3 * 2 + 1 * 2)
    assert flop_per_target_word(counts, [BATCH]) == 2 * by_hand / 4
    assert flop_per_target_word(counts, [BATCH, BATCH]) == 2 * by_hand / 4
    assert training_flop_per_target_word(counts, [BATCH]) == 6 * by_hand / 4


def test_a_translators_multiplications_by_hand():
    sizes = {"source_embedding_size": 3, "target_embedding_size": 5, "encoder_units": 7, "decoder_units": 4}
    model = untrained_translator(TranslatorConfiguration(**sizes, attention_units=6, bidirectional=False), 20)
    assert translator_multiplications(model) == Multiplications(
        source_word=3 * 21 + 7 * 21 + 7 * 6,  # the cell, and the attention's key
        sentence=7 * 4,  # z_0
        # both transitions, the attention's query, the readout, the logits
        target_word=(5 + 4) * 12 + (7 + 4) * 12 + 4 * 6 + (4 + 5 + 7) * 5 + 5 * 20,
        word_pair=6 + 7,  # energy and context
    )


@pytest.mark.parametrize("attention", ["none", "additive", "dot", "general"])
def test_a_sentence_of_any_length_has_what_the_counts_say(attention):
    sizes = {"source_embedding_size": 3, "target_embedding_size": 5, "encoder_units": 2, "decoder_units": 4}
    model = untrained_translator(
        TranslatorConfiguration(**sizes, attention=attention, conditional=attention != "none"), vocabulary_size=20
    )
    counts = translator_multiplications(model)
    assert forward_multiplications(model, 5, 7) == counts.count(np.array([5]), np.array([7]))
    assert (counts.word_pair > 0) == (attention != "none")


def test_joeynmts_multiplications():
    weights = {
        "src_embed.lut.weight": (100, 2),
        "encoder.rnn.weight_ih_l0": (3, 2),
        "encoder.rnn.bias_ih_l0": (3,),
        "decoder.bridge_layer.weight": (5, 2),
        "decoder.attention.energy_layer.weight": (1, 7),
        "decoder.attention.key_layer.weight": (7, 3),
        "decoder.output_layer.weight": (10, 4),
    }
    assert joeynmt_multiplications(weights, 6) == Multiplications(3 * 2 + 7 * 3, 5 * 2, 10 * 4, 7 + 6)


@pytest.mark.parametrize("kind, count", [("conditional", 7_038_464), ("input_feeding", 7_431_680)])
def test_ours_has_at_least_the_products_of_joeynmt(kind, count):
    """The table of multiplications for a target word in `benchmarks.translator_training`, at 512 units."""
    joeynmt = 768 * 1536 + 512 * 1536 + 512 * 512 + 1024 * 512 + 512 * 7859
    assert joeynmt == 6_776_320
    tokenizers = [WordTokenizer([f"w{i}" for i in range(count)]) for count in (1, 7855)]
    model = our_model(SimpleNamespace(model=kind, model_size=512, micro_batches=1), tokenizers)
    assert translator_multiplications(model).target_word == count >= joeynmt
