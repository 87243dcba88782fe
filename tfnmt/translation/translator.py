"""The translator: tokenizers, encoder and decoder as one Keras model, from text to text."""

import functools

import keras
import tensorflow as tf

from tfnmt.configuration import from_json
from tfnmt.layers.decoder import Decoder
from tfnmt.layers.encoder import Encoder
from tfnmt.text.tokenizers import END, PADDING, tokenizer_from_config
from tfnmt.training.micro_batches import MicroBatchTraining
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher


@keras.saving.register_keras_serializable("tfnmt")
class Translator(MicroBatchTraining, keras.Model):
    """A recurrent encoder–decoder that carries its tokenizers with it.

    Args:
        configuration: a `TranslatorConfiguration`.
        source_tokenizer, target_tokenizer: text to ids and back, of each side; one twice for a joint vocabulary.

    As a Keras model it maps a batch `{"source": int32 [batch, source_length], "target": int32 [batch, target_length]}`
    (what `tfnmt.data.pair_batches` makes) to the logits of every next word, float [batch, target_length,
    target_vocabulary_size].
    """

    kind = "translator"
    configuration_class = TranslatorConfiguration
    tokenizer_names = ("source", "target")

    def __init__(self, configuration, source_tokenizer, target_tokenizer, **options):
        super().__init__(**options)
        self.configuration = c = configuration
        self.micro_batches = configuration.micro_batches
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
        self._searchers = functools.cache(functools.partial(Searcher, self))

    def call(self, inputs, training=False):
        """Logits [batch, target_length, target_vocabulary_size] of `inputs` {"source", "target"}, as the class says."""
        return self.decoder(inputs["target"], self.encoder(inputs["source"], training=training), training=training)

    def loss_terms(self, x, y, y_pred):
        """The loss given to `compile`, and the words it is the mean of; see `MicroBatchTraining`."""
        return [(self.loss(y, y_pred), tf.math.count_nonzero(y))]

    @property
    def tokenizers(self):
        """Those of `tokenizer_names`."""
        return self.source_tokenizer, self.target_tokenizer

    def translate(self, texts, beam_size=5, batch_size=64, **options):
        """Translate texts; an empty text gives an empty translation.

        Args:
            texts: a list of strings.
            beam_size: 1 is greedy search.
            batch_size: texts translated at once. Those of one length go together; the result is in the order of
                `texts`.
            options: further values of a `SearchConfiguration`.

        Returns:
            A list of strings, one for each text, the best translation.
        """
        searcher = self._searchers(SearchConfiguration(beam_size=beam_size, **options))
        found = searcher.translate(texts, batch_size)
        return [translations.texts[0].decode("utf-8") for translations in found]

    def search_step(self, source, with_attention=False, candidates=None, dtype=None):
        """What `tfnmt.search` works on.

        Args:
            source: int32 [batch, source_length], as `source_ids` gives it.
            with_attention: whether its auxiliary outputs are {"attention": α float32 [rows, source_length]}, or {}.
            candidates: a `tfnmt.translation.shortlist.Candidates`, whose words alone have a probability; a word's id is
                then its place among them. None for all words.
            dtype: what the decoder's matrices are multiplied in, such as "bfloat16"; None for their own.

        Returns:
            (step, states, memory): the step function, and the first states and what every step gets, of [batch] rows.
        """
        as_layer = _AsLayer(dtype=self.dtype_policy, name="search")
        states, memory = as_layer(source, function=lambda source: self.decoder.start(self.encoder(source)))
        memory = {"source": memory} if candidates is None else {"source": memory, "never": candidates.never}
        words = None if candidates is None else candidates.words
        shared = as_layer(source, function=lambda _: self.decoder.for_steps(words, dtype))

        def step(ids, states, memory):
            ids = ids if words is None else tf.gather(words, ids)
            logits, states, attention = as_layer(
                ids, function=lambda ids: self.decoder.step(ids, states, memory["source"], shared)
            )
            logits = tf.cast(logits, tf.float32)
            auxiliary = {"attention": tf.cast(attention, tf.float32)} if with_attention else {}
            return tf.nn.log_softmax(logits + memory["never"] if "never" in memory else logits), states, auxiliary

        return step, states, memory

    def source_ids(self, texts):
        """Strings [batch] → int32 [batch, source_length]: the words, cut at `maximum_source_length`, END, padding."""
        texts = tf.concat([texts, [""]], axis=0)  # one more, so that an empty batch has a width too
        words = self.source_tokenizer.encode(texts)[:, : self.configuration.maximum_source_length]
        end = tf.fill([tf.shape(texts)[0], 1], END)
        return tf.concat([words, end], axis=1).to_tensor(PADDING)[:-1]

    def get_config(self):
        """Plain values from which `from_config` makes the same model, tokenizers and all."""
        return {
            "configuration": self.configuration.model_dump(mode="json"),
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


class _AsLayer(keras.layers.Layer):
    """Applies a function as a layer is applied: in mixed precision, weights are read as what the layer computes in."""

    def call(self, ids, function):
        return function(ids)
