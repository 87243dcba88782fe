"""How sentences are framed with START and END, and how much of a text is encoded. Nothing else does either.

source           decoder inputs        labels
a b c END        START x y             x y END
"""

import tensorflow as tf

from tfnmt.devices import on_cpu
from tfnmt.text.tokenizers import END, PADDING, START, Tokenizer

LONGEST_TOKEN = 64
"""Characters of the longest token that is expected. (A subword has at most 16 characters.) Of a text of which n tokens
are read, only this times n characters are encoded, so that an endless line costs no more than a long sentence."""


def with_end(ids: tf.RaggedTensor) -> tf.RaggedTensor:
    """Tokens, END: what an encoder reads and what a decoder is to predict; ragged int32 [batch, (length)] →
    [batch, (length + 1)].
    """
    return tf.concat([ids, _column(ids, END)], axis=1)


def decoder_inputs(ids: tf.RaggedTensor) -> tf.RaggedTensor:
    """START, target tokens, the token before each label: ragged int32 [batch, (length)] → [batch, (length + 1)]."""
    return tf.concat([_column(ids, START), ids], axis=1)


def framed(
    source_ids: tf.RaggedTensor, target_ids: tf.RaggedTensor
) -> tuple[dict[str, tf.RaggedTensor], tf.RaggedTensor]:
    """Ragged [pairs, (length)] twice -> the structure of a batch of pairs, ragged."""
    return {"source": with_end(source_ids), "target": decoder_inputs(target_ids)}, with_end(target_ids)


def padded_batch(source_ids: tf.RaggedTensor, target_ids: tf.RaggedTensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """What `framed` returns, padded with `PADDING`: int32 [pairs, longest]."""
    return tf.nest.map_structure(lambda ids: ids.to_tensor(PADDING), framed(source_ids, target_ids))


def truncate(texts: tf.Tensor, maximum_length: int) -> tf.Tensor:
    """The first characters of strings [batch], so many that `maximum_length` tokens can be expected in them."""
    return tf.strings.substr(texts, 0, LONGEST_TOKEN * maximum_length, unit="UTF8_CHAR")


def encode(tokenizer: Tokenizer, texts: tf.Tensor, maximum_length: int) -> tf.RaggedTensor:
    """Strings [batch] → their first `maximum_length` tokens, ragged int32 [batch, (length)]."""
    return tokenizer.encode(truncate(texts, maximum_length))[:, :maximum_length]


@on_cpu
def encode_source(tokenizer: Tokenizer, texts: tf.Tensor, maximum_length: int) -> tf.Tensor:
    """Strings [batch] → what an encoder reads, int32 [batch, source_length]: at most `maximum_length` tokens, END,
    PADDING.
    """
    texts = tf.concat([texts, [""]], axis=0)  # one more, so that an empty batch has a width too
    return with_end(encode(tokenizer, texts, maximum_length)).to_tensor(PADDING)[:-1]


def _column(ids, token):
    return tf.fill([ids.nrows(), 1], token)
