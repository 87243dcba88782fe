"""Subwords: SentencePiece models inside the graph, by tensorflow-text."""

import base64
import hashlib
import random
from collections.abc import Iterable

import numpy as np
import sentencepiece
import tensorflow as tf
import tensorflow_text as tf_text
from tensorflow_text.python.ops import sentencepiece_tokenizer

from tfnmt.errors import UserError
from tfnmt.text.subword_sampling import SubwordSampler
from tfnmt.text.subword_training import train_sentencepiece
from tfnmt.text.tokenizer import (
    END,
    PADDING,
    START,
    UNKNOWN,
    Tokenizer,
    normalize,
    remove_special_ids,
    replace_invalid_ids,
    tokens_of_text,
)

# At the beginning of a piece: a word begins with it.
WORD_MARK = "▁"


class SubwordTokenizer(Tokenizer):
    """Text <-> ids of SentencePiece subwords (Kudo and Richardson 2018, https://aclanthology.org/D18-2012).

    Decoding restores the encoded text, except that it is in Unicode form NFC, each run of white space is one space, and
    none at the beginning and the end, the mark of words "▁" (U+2581) becomes a space, and characters that were not in
    the training text become "<unk>".

    Args:
        model: the bytes of a SentencePiece model whose first four ids are `SPECIAL_TOKENS`.
        lowercase: whether text is lowercased before it is encoded.

    Raises:
        UserError: the bytes are no such model.
    """

    kind = "subword"
    extension = ".model"

    def __init__(self, model: bytes, lowercase: bool = False):
        super().__init__(name="subword_tokenizer")
        _check(model)
        self.model = model
        self.lowercase = lowercase
        try:
            self._pieces = tf_text.SentencepieceTokenizer(model=model)
            self._pieces._model_resource = _NamedModel(model)
            self.vocabulary_size = int(self._pieces.vocab_size())
        except tf.errors.OpError as error:
            raise UserError("this is not a SentencePiece model: TensorFlow Text cannot read it") from error

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        vocabulary_size: int,
        model_type: str = "unigram",
        lowercase: bool = False,
        character_coverage: float = 1.0,
        seed: int = 0,
    ) -> "SubwordTokenizer":
        """Learns `vocabulary_size` pieces (including the four special ones) from `lines`, streamed.

        For a joint vocabulary, chain the lines of both sides. SentencePiece skips lines over
        4,192 bytes, and those with the character ▅.

        Args:
            model_type: "unigram" (Kudo 2018) or "bpe" (Sennrich et al. 2016).
            character_coverage: share of the text's characters in the vocabulary, 0.98 to 1; rarer ones become "<unk>".
            seed: of the sample of lines if there are more than a million.

        Raises:
            UserError: no text, or a vocabulary size that is impossible for the text; names the nearest possible one.
        """
        return cls(
            train_sentencepiece(lines, vocabulary_size, model_type, lowercase, character_coverage, seed), lowercase
        )

    def encode(self, text: tf.Tensor) -> tf.RaggedTensor:
        """string [batch] -> ragged int32 [batch, (length)], without START and END."""
        return self._pieces.tokenize(normalize(text, self.lowercase))

    def sample(self, text: tf.Tensor, alpha: float, seed: tf.Tensor) -> tf.RaggedTensor:
        """As `encode`, but with segmentations that are drawn, the same ones whenever text and seed are the same.

        They are drawn in Python, outside of the graph: TensorFlow Text's operation can do it too, but not from a seed.

        Args:
            text: string [batch].
            alpha: of a BPE model, the probability of leaving a merge out (BPE-dropout: Provilkov et al. 2020,
                arXiv:1910.13267); of a unigram model, the exponent of the segmentations' probabilities (Kudo 2018,
                arXiv:1804.10959).
            seed: int32, scalar, not negative.

        Returns:
            Ragged int32 [batch, (length)], without START and END.
        """
        sampler = SubwordSampler(self.model, alpha)

        def draw(lines, seed):
            rng = random.Random(int(seed))
            rows = [sampler.draw(line.decode(), rng) for line in lines]
            return np.array([id_ for row in rows for id_ in row], np.int32), np.array(
                [len(row) for row in rows], np.int64
            )

        ids, lengths = tf.numpy_function(draw, [normalize(text, self.lowercase), seed], [tf.int32, tf.int64])
        ids.set_shape([None])
        lengths.set_shape([None])
        return tf.RaggedTensor.from_row_lengths(ids, lengths)

    def surface_forms(self, text: tf.Tensor) -> tf.RaggedTensor:
        """string [batch] -> ragged string [batch, (length)]: the text of each piece, without white space."""
        text = normalize(text, self.lowercase)
        _, starts, ends = self._pieces.tokenize_with_offsets(text)
        sentences = tf.gather(text, starts.value_rowids())
        parts = tf.strings.substr(sentences, starts.flat_values, ends.flat_values - starts.flat_values)
        return starts.with_flat_values(tf.strings.strip(parts))

    def decode(self, ids: tf.Tensor | tf.RaggedTensor, unknown_tokens: tf.Tensor | None = None) -> tf.Tensor:
        """Ids up to the first END as text; see `Tokenizer.decode`."""
        if unknown_tokens is None:
            return self._pieces.detokenize(remove_special_ids(ids, self.vocabulary_size))
        text = tf.strings.reduce_join(tokens_of_text(self, ids, unknown_tokens), axis=1)
        return tf.strings.strip(tf.strings.regex_replace(text, WORD_MARK, " "))

    def ids_to_tokens(self, ids: tf.Tensor) -> tf.Tensor:
        """The piece of each id ("▁" marks the beginning of a word): integers of any shape -> string, same shape."""
        return self._pieces.id_to_string(replace_invalid_ids(ids, self.vocabulary_size))

    def begins_word(self, ids: tf.Tensor) -> tf.Tensor:
        """Whether each id's piece begins with "▁": integers of any shape -> bool, same shape."""
        return tf.strings.substr(self.ids_to_tokens(ids), 0, len(WORD_MARK.encode())) == WORD_MARK

    def get_config(self) -> dict:
        model = base64.b64encode(self.model).decode("ascii")
        return {"kind": self.kind, "model": model, "lowercase": self.lowercase}

    @classmethod
    def from_config(cls, config: dict) -> "SubwordTokenizer":
        return cls(base64.b64decode(config["model"]), config["lowercase"])

    def asset(self) -> bytes:
        """What goes to the file NAME.model: the SentencePiece model, readable by any SentencePiece tool."""
        return self.model

    def options(self) -> dict:
        """What goes to NAME.json beside the asset."""
        return {"lowercase": self.lowercase}

    @classmethod
    def from_asset(cls, asset: bytes, options: dict) -> "SubwordTokenizer":
        return cls(asset, **options)


def _check(model: bytes) -> None:
    """Raise `UserError` unless SentencePiece finds the model sound. The older SentencePiece in TensorFlow Text does not
    look, and a broken model ends the process. Neither looks whether what the model writes is UTF-8.
    """
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.load_from_serialized_proto(model)
    except RuntimeError as error:
        raise UserError(f"this is not a SentencePiece model: {error}") from error
    specials = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
    if specials != (PADDING, UNKNOWN, START, END):
        raise UserError(f"the model's ids of padding, unknown, start and end are {specials}, not 0, 1, 2 and 3")
    try:
        processor.id_to_piece(list(range(processor.vocab_size())))
        processor.decode([UNKNOWN])
    except UnicodeDecodeError as error:
        raise UserError(f"a piece of the model, or its text for unknown ones, is not UTF-8: {error}") from error


class _NamedModel(tf.saved_model.experimental.TrackableResource):
    """A SentencePiece model that survives `tf.random.set_seed`.

    TensorFlow frees a model without a name whenever a seed is set (tensorflow/text issue 570), and tokenizers made
    before it fail: "Resource ... does not exist".
    """

    def __init__(self, model: bytes):
        super().__init__()
        self._model = model
        _ = self.resource_handle  # creates it now, not inside the first function that uses it

    def _create_resource(self):
        name = hashlib.sha256(self._model).hexdigest()
        return sentencepiece_tokenizer.gen_sentencepiece_tokenizer.sentencepiece_op(model=self._model, shared_name=name)
