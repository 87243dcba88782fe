"""The classifier: words, an encoder of sentences and a head as one Keras model, from text to label."""

import keras
import tensorflow as tf

from tfnmt.configuration import from_json, to_json
from tfnmt.layers.heads import MultilayerPerceptron, pair_features
from tfnmt.models.classifier_configuration import ClassifierConfiguration
from tfnmt.models.sentence_encoders import make_encoder
from tfnmt.text.parses import NOTHING
from tfnmt.text.tokenizers import tokenizer_from_config
from tfnmt.training.classification import classification_loss, update_accuracy


@keras.saving.register_keras_serializable("tfnmt")
class Classifier(keras.Model):
    """Classifies pairs of sentences, sentences, or every phrase of a sentence's tree.

    As a Keras model it maps a batch of sentences (words, transitions and pointers, as `tfnmt.data` makes them; of pairs
    all first sentences, then all second ones) to a dictionary: "scores" float [batch, classes]; where phrases have
    labels and the encoder makes a node of each, "phrase_scores" [sentences, steps, classes]; where it parses,
    "transition_scores" [sentences, steps, 2] and "transitions" int32 [sentences, steps].

    `fit` and `evaluate` take batches (sentences, labels), labels int32 [batch], or [sentences, steps] of phrases, −1
    where there is none. The loss is the model's own, so `compile` takes none.

    Args:
        configuration: a `ClassifierConfiguration`.
        tokenizer: a `WordTokenizer`, between words and ids.
        label_smoothing: part of each target given to all classes alike, in training.
    """

    tokenizer_names = ("words",)
    configuration_class = ClassifierConfiguration

    def __init__(self, configuration, tokenizer, label_smoothing=0.0, **options):
        super().__init__(**options)
        self.configuration = c = configuration
        self.tokenizer = tokenizer
        self.label_smoothing = label_smoothing
        self.encoder = make_encoder(c, tokenizer.vocabulary_size)
        self.head = MultilayerPerceptron(
            len(c.labels),
            c.head_units,
            c.head_layers,
            c.activation,
            c.batch_normalization,
            c.head_dropout,
            name="head",
        )
        size = self.encoder.output_size
        if c.reads_phrases:
            self.head.build((None, None, size))
        else:
            self.head.build((None, 4 * size if c.reads_pairs else size))
        self.accuracy = keras.metrics.Mean(name="accuracy")
        self.built = True
        self.supports_jit = False  # batches come in many shapes, and XLA would compile each of them anew

    def call(self, inputs, training=False):
        """Scores, as the class says, of a batch of sentences."""
        encoded = self.encoder(inputs, training=training)
        return self.scored(encoded, inputs, training)

    def scored(self, encoded, inputs, training):
        """What the encoder gave, and the scores of classes with it."""
        if self.configuration.reads_pairs:
            scores = {"scores": self.head(pair_features(encoded["root"]), training=training)}
        elif self.configuration.reads_phrases:
            scores = self._phrase_scores(encoded, inputs, training)
        else:
            scores = {"scores": self.head(encoded["root"], training=training)}
        kept = {name: encoded[name] for name in ("transition_scores", "transitions") if name in encoded}
        return scores | kept

    def _phrase_scores(self, encoded, inputs, training):
        if "nodes" not in encoded:  # a flat encoder reads the whole sentence alone
            root = encoded["root"][:, tf.newaxis]
            return {"scores": self.head(root, training=training)[:, 0]}
        real = inputs["transitions"] != NOTHING
        scores = self.head(encoded["nodes"], real=real, training=training)
        return {"phrase_scores": scores, "scores": at_root(scores, inputs["transitions"])}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Cross-entropy of the classes; of phrases, where they are scored, the mean over all that have a label."""
        smoothing = self.label_smoothing if training else 0.0
        if training and "phrase_scores" in y_pred:
            return classification_loss(y, y_pred["phrase_scores"], smoothing)
        return classification_loss(self.root_labels(x, y), y_pred["scores"], smoothing)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Accuracy of the classes of pairs or sentences; of phrases, that at the root counts."""
        update_accuracy(self.accuracy, self.root_labels(x, y), tf.argmax(y_pred["scores"], axis=-1))
        return self.get_metrics_result()

    @property
    def tokenizers(self):
        """Those of `tokenizer_names`."""
        return (self.tokenizer,)

    def root_labels(self, inputs, labels):
        """int32 [batch]: the labels of pairs or sentences; of phrases, those of the roots."""
        return at_root(labels, inputs["transitions"]) if self.configuration.reads_phrases else labels

    def get_config(self):
        """Plain values from which `from_config` makes the same model, tokenizer and all."""
        return {
            "configuration": to_json(self.configuration),
            "tokenizer": self.tokenizer.get_config(),
            "label_smoothing": self.label_smoothing,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The inverse of `get_config`."""
        configuration = from_json(ClassifierConfiguration, config["configuration"])
        tokenizer = tokenizer_from_config(config["tokenizer"])
        return cls(configuration, tokenizer, config["label_smoothing"], name=config["name"])


def at_root(nodes, transitions):
    """What each sentence's last node has: [sentences, steps, ...] → [sentences, ...]."""
    last = tf.math.count_nonzero(transitions, axis=1, dtype=tf.int32) - 1
    return tf.gather(nodes, tf.maximum(last, 0), batch_dims=1)
