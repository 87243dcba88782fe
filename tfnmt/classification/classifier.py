"""The classifier: word vectors, an encoder of sentences and a head over their features, as one Keras model."""

import inspect
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfnmt.classification import reinforce
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.classification.encoders import ENCODERS, make_encoder
from tfnmt.classification.losses import classification_loss, number_of_labels, transition_labels, update_accuracy
from tfnmt.classification.prediction import Batch, Predictor
from tfnmt.classification.running_rewards import RunningStandardization
from tfnmt.configuration import from_json, require, require_class
from tfnmt.layers.feedforward import MultilayerPerceptron, pair_features
from tfnmt.layers.pair_attention import PairAttention
from tfnmt.text.brackets import BRACKET_WORDS, PAD
from tfnmt.text.tokenizer import PADDING, UNKNOWN
from tfnmt.text.tokenizers import WordTokenizer, tokenizer_from_config
from tfnmt.training.micro_batches import LossTerms, MicroBatchTraining, batch_loss

PARSER_OUTPUTS = ("transitions", "transition_logits", "log_probability")


@keras.saving.register_keras_serializable("tfnmt")
class Classifier(MicroBatchTraining, keras.Model):
    """Classifies pairs of sentences, sentences, or every phrase of a sentence's tree.

    As a Keras model it maps a batch of sentences, as `tfnmt.data.example_batches` makes them (of pairs, all first
    sentences and then all second ones), to a dictionary:

        "logits"             float [batch, classes]
        "phrase_logits"      float [sentences, steps, classes], in training, where phrases have labels and the encoder
                             has a node for each
        "transitions"        int32 [sentences, steps], if the encoder predicts parses
        "transition_logits"  float [sentences, steps, 2], likewise
        "log_probability"    float [sentences], of the whole parse, if the encoder samples parses

    An encoder that samples parses draws `samples` of each sentence in training, which stand side by side: batch and
    sentences count every sample then. With 0 it takes the most probable parse, and its parser is not trained.

    `fit` and `evaluate` take batches (sentences, labels), labels int32 [batch], or [sentences, steps] of phrases, −1
    for none. The losses are the model's own, so `compile` takes none.

    Args:
        configuration: sizes, task and encoder.
        tokenizer: between words and ids.
        label_smoothing: ε of `MaskedCrossEntropy`, in training.

    Attributes:
        brackets: the ids of brackets as words, those that the tokenizer knows.
    """

    kind = "classifier"
    configuration_class = ClassifierConfiguration
    tokenizer_names = ("words",)

    def __init__(
        self,
        configuration: ClassifierConfiguration,
        tokenizer: WordTokenizer,
        label_smoothing: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        require_class(configuration, ClassifierConfiguration)
        self.configuration = c = configuration
        self.tokenizer = tokenizer
        self.micro_batches = c.micro_batches
        self.label_smoothing = label_smoothing
        self.encoder_spec = ENCODERS[c.encoder]
        ids = tokenizer.encode(tf.constant(BRACKET_WORDS)).flat_values.numpy().tolist()
        self.brackets = tuple(i for i in ids if i != UNKNOWN)
        known = len(self.brackets) == len(BRACKET_WORDS)
        require(c.composed_brackets or known, "composed_brackets", False, "true with a vocabulary without brackets")
        self.encoder = make_encoder(c, tokenizer.vocabulary_size, self.brackets, self.dtype_policy.name)
        self.head = MultilayerPerceptron(
            len(c.labels),
            c.head_units,
            c.head_layers,
            c.activation,
            c.batch_normalization,
            c.head_dropout,
            name="head",
            dtype=self.dtype_policy.name,
        )
        # All sizes are known, so the weights are made now and do not depend on the first batch.
        features = self.encoder.output_size
        if c.pair_attention:
            self.pair_attention = PairAttention(c.units, name="pair_attention", dtype=self.dtype_policy.name)
            self.pair_attention.build((None, None, self.encoder.output_size))
            features += self.pair_attention.output_size
        self.head.build((None, 4 * features if c.reads_pairs else features))
        self.built = True
        if self.encoder_spec.samples_parses and not c.samples_parses:
            self.encoder.tracker.trainable = False
        self.accuracy = keras.metrics.Mean(name="accuracy")
        if self.encoder_spec.learns_from_parses:
            self.transition_accuracy = keras.metrics.Mean(name="transition_accuracy")
        if self.encoder_spec.samples_parses:
            self.seeds = keras.random.SeedGenerator()
            if c.baseline == "running":
                self.standardize = RunningStandardization(name="standardize", dtype="float32")  # as rewards are
                self.standardize.build(None)
        self.supports_jit = False  # XLA would compile every shape of a batch anew
        self.predictor = Predictor(self)

    def call(self, inputs: Batch, training: bool = False) -> Batch:
        """The outputs, as the class describes them, for a batch of sentences."""
        encoded = self._encode(inputs, training)
        outputs = {}
        if self.encoder_spec.predicts_parses:
            outputs = {name: encoded[name] for name in PARSER_OUTPUTS if name in encoded}
        if training and self.configuration.reads_phrases and self.encoder_spec.trains_on_parses:
            phrase_logits = self._phrase_logits(encoded["nodes"], inputs["transitions"])
            return outputs | {"phrase_logits": phrase_logits, "logits": at_root(phrase_logits, inputs["transitions"])}
        return outputs | {"logits": self.head(self._features(inputs, encoded), training=training)}

    def _encode(self, inputs, training):
        if training and self.configuration.samples_parses:
            words = tf.repeat(inputs["words"], self.configuration.samples, axis=0)
            return self.encoder({"words": words}, training=True, seed=tf.cast(self.seeds.next(), tf.int32))
        return self.encoder(inputs, training=training)

    def _features(self, inputs, encoded):
        """What the head classifies: float [batch, features]."""
        features = encoded["root"]
        if self.configuration.pair_attention:
            real = encoded["transitions"] != PAD if "transitions" in encoded else inputs["words"] != PADDING
            features = tf.concat([features, self.pair_attention(encoded["nodes"], real=real)], axis=1)
        return pair_features(features) if self.configuration.reads_pairs else features

    def _phrase_logits(self, nodes, transitions):
        """Every node through the head in training: float [sentences, steps, units] → [sentences, steps, classes]."""
        rows = tf.reshape(nodes, [-1, self.encoder.output_size])
        logits = self.head(rows, tf.reshape(transitions != PAD, [-1]), training=True)
        return tf.reshape(logits, tf.concat([tf.shape(transitions), [len(self.configuration.labels)]], axis=0))

    def compute_loss(
        self,
        x: Batch,
        y: tf.Tensor,
        y_pred: Batch,
        sample_weight: None = None,
        training: bool = True,
    ) -> tf.Tensor:
        """The sum of the `loss_terms` and of what the regularizers of the weights add; a scalar."""
        return self.with_penalties(batch_loss([self.loss_terms(x, y, y_pred, training)]))

    def loss_terms(self, x: Batch, y: tf.Tensor, y_pred: Batch, training: bool = True) -> LossTerms:
        """The terms of the loss: the cross-entropy of the classes (of phrases, the mean over all that have a label); in
        training also that of the transitions, weighted, if the encoder learns from parses. If it samples parses, see
        `tfnmt.classification.reinforce.loss_terms`.

        Returns:
            Pairs (mean, count): the loss is the sum of the means, and each is the mean of that many labels.
        """
        smoothing = self.label_smoothing if training else 0.0
        root_labels = self.root_labels(x, y, y_pred)
        if training and self.configuration.samples_parses:
            standardize = self.standardize if self.configuration.baseline == "running" else None
            return reinforce.loss_terms(self.configuration, root_labels, y_pred, smoothing, standardize)
        labels, logits = (y, y_pred["phrase_logits"]) if "phrase_logits" in y_pred else (root_labels, y_pred["logits"])
        terms = [(classification_loss(labels, logits, smoothing), number_of_labels(labels))]
        if training and self.encoder_spec.learns_from_parses:
            labels = transition_labels(x["transitions"])
            loss = classification_loss(labels, y_pred["transition_logits"])
            terms.append((self.configuration.transition_weight * loss, number_of_labels(labels)))
        return terms

    def compile(self, *args: Any, **options: Any) -> None:
        """As `keras.Model.compile`.

        Raises:
            ValueError: a loss or metrics are given, which would have no effect: the classifier has its own.
        """
        given = inspect.signature(super().compile).bind(*args, **options).arguments
        if any(given.get(name) for name in ("loss", "metrics", "weighted_metrics")):
            raise ValueError("a Classifier has its own loss and metrics: compile it without")
        super().compile(*args, **options)

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """As Keras's, which calls no `compile` that a model overrides: the model would lose its optimizer's state."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def select_examples(self, x: Batch, y: tf.Tensor, indices: tf.Tensor) -> tuple[Batch, tf.Tensor]:
        """See `MicroBatchTraining`; of pairs, both sentences."""
        count = tf.shape(y)[0]
        sentences = tf.concat([indices, count + indices], axis=0) if self.configuration.reads_pairs else indices
        return {name: tf.gather(tensor, sentences) for name, tensor in x.items()}, tf.gather(y, indices)

    def compute_metrics(self, x: Batch, y: tf.Tensor, y_pred: Batch, sample_weight: None = None) -> dict[str, Any]:
        """Accuracy of the pairs or sentences (of phrases, the root's), and of transitions learned from parses."""
        update_accuracy(self.accuracy, self.root_labels(x, y, y_pred), y_pred["logits"])
        if self.encoder_spec.learns_from_parses:
            labels = transition_labels(x["transitions"])
            update_accuracy(self.transition_accuracy, labels, y_pred["transition_logits"])
        return self.get_metrics_result()

    def root_labels(self, inputs: Batch, labels: tf.Tensor, predictions: Batch) -> tf.Tensor:
        """The labels of pairs or sentences, of phrases the root's, once for each sample: int32 [batch]."""
        if labels.shape.rank == 2:
            labels = at_root(labels, inputs["transitions"])
        return tf.repeat(labels, tf.shape(predictions["logits"])[0] // tf.maximum(tf.shape(labels)[0], 1))

    @property
    def tokenizers(self) -> tuple[WordTokenizer]:
        """Those of `tokenizer_names`."""
        return (self.tokenizer,)

    def predict_on_batch(self, x: Batch) -> dict[str, np.ndarray]:
        """The outputs for a batch; as Keras's, but traced once for all shapes."""
        return self.predictor.predict(x)

    def classify(self, texts: Sequence[str] | Sequence[tuple[str, str]], batch_size: int = 128) -> list[str]:
        """The label of each text.

        Args:
            texts: strings, or pairs of strings where pairs are classified: words separated by single spaces, in binary
                brackets as in `( ( A dog ) runs )`. Models that need no parse ignore brackets, unless they read them
                as words (`brackets_as_words`).
            batch_size: texts classified at once.

        Raises:
            UserError: a text is no pair where pairs are classified, or is one where they are not, has no words, or no
                brackets where the model needs them; names its number, from 1.
        """
        return self.predictor.classify(texts, batch_size)

    def parse(self, texts: Sequence[str], batch_size: int = 128) -> list[str]:
        """The parse tree of each sentence in binary brackets, as the model predicts it.

        Args:
            texts: words separated by spaces; brackets are ignored, unless the model reads them as words
                (`brackets_as_words`), which are then in the tree, too.
            batch_size: texts parsed at once.

        Raises:
            UserError: the model does not parse, or a text has no words, or no brackets where the model reads them.
        """
        return self.predictor.parse(texts, batch_size)

    def get_config(self) -> dict[str, Any]:
        """Plain values from which `from_config` makes the same model and its tokenizer; not which of its layers are
        frozen."""
        return {
            **super().get_config(),
            "configuration": self.configuration.model_dump(mode="json"),
            "tokenizer": self.tokenizer.get_config(),
            "label_smoothing": self.label_smoothing,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict | None = None) -> "Classifier":
        """The inverse of `get_config`."""
        options = dict(config)
        configuration = from_json(ClassifierConfiguration, options.pop("configuration"))
        return cls(configuration, tokenizer_from_config(options.pop("tokenizer")), **options)


def at_root(nodes: tf.Tensor, transitions: tf.Tensor) -> tf.Tensor:
    """The value at the last node of each sentence, its root: [sentences, steps, ...] → [sentences, ...]."""
    last = tf.math.count_nonzero(transitions, axis=1, dtype=tf.int32) - 1
    return tf.gather(nodes, tf.maximum(last, 0), batch_dims=1)
