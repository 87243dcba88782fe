"""Framing with START and END, and texts of which only a part is read."""

import tensorflow as tf

from tfnmt.text import framing
from tfnmt.text.tokenizers import END, PADDING, START, WordTokenizer

TOKENIZER = WordTokenizer(["a", "b", "c"])  # 4, 5, 6


def test_what_the_encoder_and_the_decoder_read_and_what_the_decoder_predicts():
    ids = TOKENIZER.encode(["a b", "", "c"])
    assert framing.with_end(ids).to_list() == [[4, 5, END], [END], [6, END]]
    assert framing.decoder_inputs(ids).to_list() == [[START, 4, 5], [START], [START, 6]]
    assert framing.with_end(ids).dtype == framing.decoder_inputs(ids).dtype == tf.int32


def test_sources_are_truncated_and_padded():
    texts = tf.constant(["a b c", "", "c"])
    assert framing.encode_source(TOKENIZER, texts, 2).numpy().tolist() == [
        [4, 5, END],
        [END, *[PADDING] * 2],
        [6, END, PADDING],
    ]
    assert framing.encode_source(TOKENIZER, tf.constant([], tf.string), 2).shape[0] == 0


def test_an_endless_text_is_truncated_before_it_is_encoded():
    (text,) = framing.truncate(tf.constant(["ä" * 1_000_000]), 5).numpy()
    assert text.decode() == "ä" * 5 * framing.LONGEST_TOKEN
    assert framing.encode(TOKENIZER, tf.constant(["a " * 500_000]), 5).to_list() == [[4] * 5]
