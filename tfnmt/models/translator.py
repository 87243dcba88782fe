"""The translator: tokenizers, encoder and decoder as one Keras model, from text to text."""

import functools

import keras
import tensorflow as tf

from tfnmt.configuration import from_json, to_json
from tfnmt.layers.decoder import Decoder
from tfnmt.layers.encoder import Encoder
from tfnmt.models.configuration import TranslatorConfiguration
from tfnmt.search.beam import BeamConfiguration, beam_search
from tfnmt.search.one_by_one import greedy_search
from tfnmt.text.tokenizers import END, PADDING, START, tokenizer_from_config


@keras.saving.register_keras_serializable("tfnmt")
class Translator(keras.Model):
    """A recurrent encoder–decoder that carries its tokenizers with it.

    Args:
        configuration: a `TranslatorConfiguration`.
        source_tokenizer, target_tokenizer: text to ids and back, of each side; one twice for a joint vocabulary.

    As a Keras model it maps a batch `{"source": int32 [batch, source_length], "target": int32 [batch, target_length]}`
    (what `tfnmt.data.batching` makes) to the scores of every next word, float [batch, target_length,
    target_vocabulary_size].
    """

    configuration_class = TranslatorConfiguration
    tokenizer_names = ("source", "target")

    def __init__(self, configuration, source_tokenizer, target_tokenizer, **options):
        super().__init__(**options)
        self.configuration = c = configuration
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.encoder = Encoder(
            source_tokenizer.vocabulary_size,
            c.source_embedding_size,
            c.encoder_units,
            layers=c.encoder_layers,
            cell=c.cell,
            bidirectional=c.bidirectional,
            residual=c.residual,
            layer_normalization=c.layer_normalization,
            word_dropout=c.word_dropout,
            embedding_dropout=c.source_dropout,
            state_dropout=c.state_dropout,
            output_dropout=c.encoder_dropout,
            summary_dropout=c.encoder_dropout if c.attention == "none" else 0.0,
            name="encoder",
        )
        self.decoder = Decoder(
            target_tokenizer.vocabulary_size,
            c.target_embedding_size,
            c.decoder_units,
            layers=c.decoder_layers,
            cell=c.cell,
            attention=c.attention,
            attention_units=c.attention_units,
            conditional=c.conditional,
            deep_output=c.deep_output,
            input_feeding=c.input_feeding,
            tied_embeddings=c.tied_embeddings,
            residual=c.residual,
            layer_normalization=c.layer_normalization,
            word_dropout=c.word_dropout,
            embedding_dropout=c.target_dropout,
            state_dropout=c.state_dropout,
            output_dropout=c.output_dropout,
            name="decoder",
        )
        # Every size is known, so the weights exist from the start: nothing depends on which batch comes first.
        self.encoder.build(None)
        self.decoder.build(self.encoder.output_size)
        self.built = True
        self.supports_jit = False  # batches come in many shapes, and XLA would compile each of them anew
        # Not a dictionary: a SavedModel cannot keep one with such keys.
        self._searches = functools.cache(self._new_search)

    def call(self, inputs, training=False):
        """Scores [batch, target_length, target_vocabulary_size] of `inputs` {"source", "target"}, as the class says."""
        return self.decoder(inputs["target"], self.encoder(inputs["source"], training=training), training=training)

    @property
    def tokenizers(self):
        """Those of `tokenizer_names`."""
        return self.source_tokenizer, self.target_tokenizer

    def translate(self, texts, beam_size=5, batch_size=64, length_penalty=1.0):
        """Translate texts; an empty text gives an empty translation.

        Args:
            texts: a list of strings.
            beam_size: 1 is greedy search.
            batch_size: texts translated at once. Those of one length go together; the result is in the order of
                `texts`.
            length_penalty: see `beam_search`.

        Returns:
            A list of strings, one for each text.
        """
        search = self.search_function(beam_size, length_penalty)
        order = sorted((i for i, text in enumerate(texts) if text.strip()), key=lambda i: len(texts[i]))
        translations = [""] * len(texts)
        for first in range(0, len(order), batch_size):
            batch = order[first : first + batch_size]
            found = search(tf.constant([texts[i] for i in batch])).numpy()
            for i, text in zip(batch, found, strict=True):
                translations[i] = text.decode("utf-8")
        return translations

    def search_function(self, beam_size, length_penalty):
        """A `tf.function` from strings [batch] to translations [batch], traced once for each choice of options."""
        return self._searches(beam_size, length_penalty)

    def _new_search(self, beam_size, length_penalty):
        def search(texts):
            found = self.search(texts, beam_size, length_penalty)
            return self.target_tokenizer.decode(found.ids[:, 0])

        return tf.function(search, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)

    def search(self, texts, beam_size, length_penalty):
        """Strings [batch] → a `Found` of beam_size results for each, whose notes are the attention."""
        source = self.source_ids(texts)
        step, states = self.search_step(source, beam_size)
        real = tf.reduce_sum(tf.cast(source != PADDING, tf.int32), axis=1)
        maximum_lengths = 2 * real + 10  # a translation of more words than that has lost its way
        if beam_size == 1:
            return greedy_search(step, states, START, END, maximum_lengths)
        configuration = BeamConfiguration(beam_size=beam_size, length_penalty=length_penalty)
        return beam_search(step, states, START, END, maximum_lengths, configuration)

    def search_step(self, source, copies=1):
        """What `tfnmt.search` works on.

        Args:
            source: int32 [batch, source_length], as `source_ids` gives it.
            copies: rows that the step has for each sentence, one after the other.

        Returns:
            (step, states): the step function over [batch · copies] rows, which notes {"attention": α [rows,
            source_length]} of each word (nothing without attention), and the first states, [batch] rows.
        """
        states, memory = self.decoder.start(self.encoder(source))
        memory = {name: tf.repeat(part, copies, axis=0) for name, part in memory.items()}

        def step(ids, states):
            scores, states, attention = self.decoder.step(ids, states, memory)
            notes = {} if attention is None else {"attention": attention}
            return tf.nn.log_softmax(tf.cast(scores, tf.float32)), states, notes

        return step, states

    def source_ids(self, texts):
        """Strings [batch] → int32 [batch, source_length]: the words, cut at `maximum_source_length`, END, padding."""
        words = self.source_tokenizer.encode(texts)[:, : self.configuration.maximum_source_length]
        end = tf.fill([tf.shape(texts)[0], 1], END)
        return tf.concat([words, end], axis=1).to_tensor(PADDING)

    def get_config(self):
        """Plain values from which `from_config` makes the same model, tokenizers and all."""
        return {
            "configuration": to_json(self.configuration),
            "source_tokenizer": self.source_tokenizer.get_config(),
            "target_tokenizer": self.target_tokenizer.get_config(),
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The inverse of `get_config`."""
        return cls(
            from_json(TranslatorConfiguration, config["configuration"]),
            tokenizer_from_config(config["source_tokenizer"]),
            tokenizer_from_config(config["target_tokenizer"]),
            name=config["name"],
        )
