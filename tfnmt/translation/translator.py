"""The translator: tokenizers, encoder and decoder as one Keras model."""

import functools
from collections.abc import Sequence
from typing import Any, Self

import keras
import tensorflow as tf

from tfnmt.configuration import from_json, require_class
from tfnmt.data.progress import ProgressDisplay
from tfnmt.layers.decoder import Decoder
from tfnmt.layers.encoder import Encoder
from tfnmt.layers.invariants import products_in
from tfnmt.layers.scheduled_sampling import ScheduledSampling
from tfnmt.text.framing import encode_source
from tfnmt.text.tokenizers import Tokenizer, tokenizer_from_config
from tfnmt.training.losses import MaskedCrossEntropy, refuse_weights, symmetric_divergences
from tfnmt.training.micro_batches import LossTerms, MicroBatchTraining
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.int8_weights import weights_digest
from tfnmt.translation.risk import risk
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
    product_dtype: str | None = None
    """What `call` multiplies matrices in, such as "bfloat16"; None for the dtype that all else is computed in."""

    def __init__(
        self,
        configuration: TranslatorConfiguration,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        **options: Any,
    ):
        super().__init__(**options)
        require_class(configuration, TranslatorConfiguration)
        self.configuration = c = configuration
        self.micro_batches = configuration.micro_batches
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.encoder = _encoder(c, source_tokenizer.vocabulary_size, self.dtype_policy.name)
        self.decoder = _decoder(c, target_tokenizer.vocabulary_size, self.dtype_policy.name)
        # Every size is known, so the weights exist from the start: nothing depends on which batch comes first.
        self.encoder.build(None)
        self.decoder.build(None, {"summary": (None, self.encoder.output_size)})
        self.built = True
        if c.scheduled_sampling:
            # Saved weights have its seed under this name.
            self.drawn_words = ScheduledSampling(c.scheduled_sampling, name="drawn_words")
        self.has_further_terms = bool(c.r_drop_weight or c.risk_weight)
        if c.risk_weight:
            self.seeds = keras.random.SeedGenerator()
        self.supports_jit = False  # batches come in many shapes, and XLA would compile each of them anew
        # Not a dictionary: a SavedModel cannot keep one with such keys.
        self._searchers = functools.cache(lambda configuration, digest: Searcher(self, configuration))

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        """Logits [batch, target_length, target_vocabulary_size] of `inputs` {"source", "target"}, as the class says."""
        with products_in(self.product_dtype):
            encoded, target = self.encoder(inputs["source"], training=training), inputs["target"]
            if training and self.configuration.scheduled_sampling:
                target = self.drawn_words(target, self.decoder(target, encoded, training=True))
            return self.decoder(target, encoded, training=training)

    def compute_loss(
        self,
        x: dict[str, tf.Tensor],
        y: tf.Tensor,
        y_pred: tf.Tensor,
        sample_weight: tf.Tensor | None = None,
        training: bool = True,
    ) -> tf.Tensor:
        """Keras's; in training with an `r_drop_weight` or `risk_weight` the sum of the means of the `loss_terms`."""
        if training and self.has_further_terms:
            refuse_weights(sample_weight)
            return self.with_penalties(tf.add_n([mean for mean, _ in self.loss_terms(x, y, y_pred)]))
        return super().compute_loss(x, y, y_pred, sample_weight, training)

    def loss_terms(self, x: dict[str, tf.Tensor], y: tf.Tensor, y_pred: tf.Tensor, training: bool = True) -> LossTerms:
        """The `MaskedCrossEntropy` given to `compile`, and the number of words or sentences that it is the mean of; see
        `MicroBatchTraining`. Any other loss is taken for a mean over words. In training with an `r_drop_weight` it is
        the mean of the losses of two predictions, and the weighted divergence of these is added; with a `risk_weight`
        the weighted `tfnmt.translation.risk.risk` is a term too, a mean over sentences.

        Raises:
            ValueError: the model was compiled without a loss, or with several.
        """
        losses = keras.tree.flatten(self.loss)  # Keras lets one give a list, and name a loss
        if len(losses) != 1 or losses[0] is None:
            number = "no loss" if losses == [None] else f"not one loss but {len(losses)}"
            raise ValueError(f"there is {number}: compile the model with one, such as tfnmt.MaskedCrossEntropy()")
        loss, c = keras.losses.get(losses[0]), self.configuration
        count = loss.count(y) if isinstance(loss, MaskedCrossEntropy) else tf.math.count_nonzero(y)
        mean = tf.reduce_mean(loss(y, y_pred))
        if training and c.r_drop_weight:
            other = self(x, training=True)
            divergence = self._weighted_divergence(y, y_pred, other, count)
            mean = (mean + tf.reduce_mean(loss(y, other))) / 2 + divergence
        terms = [(mean, count)]
        return [*terms, (self._weighted_risk(x, y), tf.shape(y)[0])] if training and c.risk_weight else terms

    def _weighted_divergence(self, y, y_pred, other, count):
        """α/4 Σ (KL(p‖q) + KL(q‖p)) over the words of `y`, divided by `count`: half of what R-Drop (Liang et al. 2021,
        section 2) adds to the sum of two cross-entropies, of which the loss has the mean."""
        divergences = tf.where(y != 0, symmetric_divergences(y_pred, other), 0.0)
        mean = tf.math.divide_no_nan(tf.reduce_sum(divergences), tf.cast(count, tf.float32))
        return self.configuration.r_drop_weight / 4 * mean

    def _weighted_risk(self, x, y):
        c = self.configuration
        seed = tf.cast(self.seeds.next(), tf.int32)
        with products_in(self.product_dtype):
            mean = risk(self, x["source"], y, c.risk_samples, c.risk_sharpness, c.risk_temperature, seed)
        return c.risk_weight * mean

    @property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Those of `tokenizer_names`."""
        return self.source_tokenizer, self.target_tokenizer

    def searcher(self, configuration: SearchConfiguration) -> Searcher:
        """The `Searcher` of a configuration: always the same one, for TensorFlow never frees the graph of one. With
        precision=int8, whose weights are a copy, it is another one when the weights have changed."""
        return self._searchers(configuration, weights_digest([self]) if configuration.precision == "int8" else None)

    def translate(self, texts: Sequence[str], beam_size: int = 5, batch_size: int = 64, **options: Any) -> list[str]:
        """Translate texts; an empty text gives an empty translation.

        Args:
            texts: a list of strings.
            beam_size: 1 is greedy search.
            batch_size: texts translated at once, those of similar length together.
            options: further values of a `SearchConfiguration`.

        Returns:
            The best translation of each text, in the order of `texts`.
        """
        searcher = self.searcher(SearchConfiguration(beam_size=beam_size, **options))
        with ProgressDisplay("translating", "sentences", len(texts)) as display:
            translations = searcher.translate(texts, batch_size, advance=display.advance)
        return [found.texts[0].decode("utf-8") for found in translations]

    def source_ids(self, texts: tf.Tensor) -> tf.Tensor:
        """Strings [batch] → int32 [batch, source_length]: at most `maximum_source_length` tokens, END, padding."""
        return encode_source(self.source_tokenizer, texts, self.configuration.maximum_source_length)

    def get_config(self) -> dict[str, Any]:
        """Plain values from which `from_config` makes the same model, tokenizers and all; not which of its layers are
        frozen."""
        return {
            **super().get_config(),
            "configuration": self.configuration.model_dump(mode="json"),
            "source_tokenizer": self.source_tokenizer.get_config(),
            "target_tokenizer": self.target_tokenizer.get_config(),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Self:
        """The inverse of `get_config`."""
        options = dict(config)
        configuration = from_json(TranslatorConfiguration, options.pop("configuration"))
        source, target = (tokenizer_from_config(options.pop(f"{side}_tokenizer")) for side in cls.tokenizer_names)
        return cls(configuration, source, target, **options)


def _encoder(c, vocabulary_size, dtype):
    """The encoder that the configuration describes."""
    return Encoder(
        vocabulary_size,
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
        dtype=dtype,
    )


def _decoder(c, vocabulary_size, dtype):
    """The decoder that the configuration describes."""
    return Decoder(
        vocabulary_size,
        c.target_embedding_size,
        c.decoder_units,
        layers=c.decoder_layers,
        cell=c.cell,
        attention=c.attention,
        attention_units=c.attention_units,
        conditional=c.conditional,
        attend_first=c.attend_first,
        deep_output=c.deep_output,
        output_units=c.output_units,
        output_activation=c.output_activation,
        input_feeding=c.input_feeding,
        tied_embeddings=c.tied_embeddings,
        residual=c.residual,
        layer_normalization=c.layer_normalization,
        word_dropout=c.word_dropout,
        embedding_dropout=c.target_dropout,
        state_dropout=c.state_dropout,
        output_dropout=c.output_dropout,
        name="decoder",
        dtype=dtype,
    )
