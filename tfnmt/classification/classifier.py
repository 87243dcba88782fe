"""The classifier: words, an encoder of sentences and a head as one Keras model, from text to label and tree."""

import functools

import keras
import numpy as np
import tensorflow as tf

from tfnmt.classification.configuration import OWN_PARSES, ClassifierConfiguration
from tfnmt.classification.encoders import make_encoder
from tfnmt.classification.losses import classification_loss, log_likelihoods, update_accuracy
from tfnmt.classification.reinforce import mean_entropy, mean_likelihood_loss, mean_likelihoods, reinforce_loss
from tfnmt.configuration import from_json
from tfnmt.data.example_batches import sentence_batch
from tfnmt.data.examples import Sentence
from tfnmt.errors import UserError
from tfnmt.layers.feedforward import MultilayerPerceptron, pair_features
from tfnmt.text.brackets import NOTHING, from_brackets, to_brackets
from tfnmt.text.tokenizers import tokenizer_from_config
from tfnmt.training.micro_batches import SideBySide, loss_of_parts


@keras.saving.register_keras_serializable("tfnmt")
class Classifier(SideBySide, keras.Model):
    """Classifies pairs of sentences, sentences, or every phrase of a sentence's tree.

    As a Keras model it maps a batch of sentences, as `tfnmt.data.example_batches` makes them (of pairs all first
    sentences, then all second ones), to a dictionary: "scores" float [batch, classes]; where it parses,
    "transition_logits" float [sentences, steps, 2] and "transitions" int32 [sentences, steps]. In training, also
    "phrase_scores" [sentences, steps, classes] where phrases have labels and every phrase is a node of the encoder's;
    and rl-spinn draws several parses of each sentence, side by side, so that batch and sentences count them all.

    `fit` and `evaluate` take batches (sentences, labels), labels int32 [batch], or [sentences, steps] of phrases, −1
    where there is none. The losses are the model's own, so `compile` takes none.

    Args:
        configuration: a `ClassifierConfiguration`.
        tokenizer: a `WordTokenizer`, between words and ids.
        label_smoothing: part of each target given to all classes alike, in training.
    """

    kind = "classifier"
    configuration_class = ClassifierConfiguration
    tokenizer_names = ("words",)

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
        # Every size is known, so the weights exist from the start: nothing depends on which batch comes first.
        size = self.encoder.output_size
        leading = (None, None) if c.reads_phrases else (None,)
        self.head.build((*leading, 4 * size if c.reads_pairs else size))
        self.built = True
        self.accuracy = keras.metrics.Mean(name="accuracy")
        if c.encoder == "spinn":
            self.transition_accuracy = keras.metrics.Mean(name="transition_accuracy")
        if c.encoder == "rl-spinn":
            self.seeds = keras.random.SeedGenerator()
        self.supports_jit = False  # batches come in many shapes, and XLA would compile each of them anew
        self._predictors = functools.cache(self._new_predictor)

    def call(self, inputs, training=False):
        """Scores, as the class says, of a batch of sentences."""
        c = self.configuration
        if c.encoder == "rl-spinn" and training:
            inputs = {"words": tf.repeat(inputs["words"], c.samples, axis=0)}
            seed = tf.cast(self.seeds.next(), tf.int32)
            encoded = self.encoder(inputs, training=True, seed=seed)
        else:
            encoded = self.encoder(inputs, training=training)
        kept = ("transition_logits", "transitions", "log_probability") if c.encoder in OWN_PARSES else ()
        return self._class_scores(encoded, inputs, training) | {name: encoded[name] for name in kept if name in encoded}

    def _class_scores(self, encoded, inputs, training):
        c, roots = self.configuration, encoded["root"]
        if c.reads_pairs:
            return {"scores": self.head(pair_features(roots), training=training)}
        if not c.reads_phrases:
            return {"scores": self.head(roots, training=training)}
        if training and "nodes" in encoded and c.encoder != "rl-spinn":
            real = inputs["transitions"] != NOTHING
            scores = self.head(encoded["nodes"], real=real, training=True)
            return {"phrase_scores": scores, "scores": at_root(scores, inputs["transitions"])}
        return {"scores": self.head(roots[:, tf.newaxis], training=training)[:, 0]}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Cross-entropy of the classes, of phrases the mean over all that have a label; while training also, weighted,
        that of the transitions (spinn), or of REINFORCE and the choices' entropy (rl-spinn; with draws rewarded
        together, that of the classes is −log of their mean likelihood).
        """
        return loss_of_parts([self.loss_terms(x, y, y_pred, training)])

    def loss_terms(self, x, y, y_pred, training=True):
        """What the loss is the sum of, each with the number of labels or choices that it is the mean of."""
        c, smoothing = self.configuration, self.label_smoothing if training else 0.0
        phrases = "phrase_scores" in y_pred
        labels, scores = (y, y_pred["phrase_scores"]) if phrases else (self.root_labels(x, y, y_pred), y_pred["scores"])
        if training and c.encoder == "rl-spinn" and c.reward == "mean_likelihood":
            together = mean_likelihoods(self._by_draw(log_likelihoods(labels, scores, smoothing)))
            terms = [(-tf.reduce_mean(together), tf.size(labels))]
        else:
            terms = [(classification_loss(labels, scores, smoothing), tf.math.count_nonzero(labels >= 0))]
        if training and c.encoder == "spinn":
            of_transitions = classification_loss(x["transitions"] - 1, y_pred["transition_logits"])
            terms.append((c.transition_weight * of_transitions, tf.math.count_nonzero(x["transitions"])))
        if training and c.encoder == "rl-spinn":
            entropy = mean_entropy(y_pred["transition_logits"], y_pred["transitions"])
            terms.append((c.policy_weight * self._policy_loss(labels, y_pred), tf.size(labels)))
            terms.append((-c.entropy_weight * entropy, tf.math.count_nonzero(y_pred["transitions"])))
        return terms

    def chosen(self, x, y, numbers):
        """See `SideBySide`; of pairs, both sentences."""
        count = tf.shape(y)[0]
        sentences = tf.concat([numbers, count + numbers], axis=0) if self.configuration.reads_pairs else numbers
        return {name: tf.gather(tensor, sentences) for name, tensor in x.items()}, tf.gather(y, numbers)

    def _policy_loss(self, labels, predictions):
        c, scores = self.configuration, predictions["scores"]
        if c.reward == "accuracy":
            rewards = tf.cast(tf.argmax(scores, axis=-1, output_type=tf.int32) == labels, tf.float32)
        else:
            rewards = log_likelihoods(labels, scores)
        log_probability = predictions["log_probability"]
        if c.reads_pairs:  # both sentences' parses earn the pair's reward
            log_probability = tf.add(*tf.split(log_probability, 2))
        loss = mean_likelihood_loss if c.reward == "mean_likelihood" else reinforce_loss
        return loss(self._by_draw(log_probability), self._by_draw(rewards))

    def _by_draw(self, values):
        """[batch · samples] → [batch, samples], one column for each of the parses drawn."""
        return tf.reshape(values, [-1, self.configuration.samples])

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Accuracy of the classes of pairs or sentences (of phrases, the root's), and of spinn's parses."""
        update_accuracy(self.accuracy, self.root_labels(x, y, y_pred), tf.argmax(y_pred["scores"], axis=-1))
        if self.configuration.encoder == "spinn":
            chosen = tf.argmax(y_pred["transition_logits"], axis=-1)
            update_accuracy(self.transition_accuracy, x["transitions"] - 1, chosen)
        return self.get_metrics_result()

    def root_labels(self, inputs, labels, predictions):
        """int32 [batch]: the labels of pairs or sentences; of phrases, the root's; each as often as it was parsed."""
        if labels.shape.rank == 2:
            labels = at_root(labels, inputs["transitions"])
        return tf.repeat(labels, tf.shape(predictions["scores"])[0] // tf.shape(labels)[0])

    @property
    def tokenizers(self):
        """Those of `tokenizer_names`."""
        return (self.tokenizer,)

    def classify(self, texts, batch_size=128):
        """The label of each text.

        Args:
            texts: a list of strings or, where pairs are classified, of pairs of strings: words with single spaces
                between, in binary brackets as in `( ( A dog ) runs )`. Models that need no parse ignore brackets.
            batch_size: texts classified at once.

        Returns:
            A list of strings, one for each text.

        Raises:
            UserError: a text has no words, or no brackets where the model needs them; names it by its number from 1.
        """
        pairs = self.configuration.reads_pairs
        labels = []
        for first in range(0, len(texts), batch_size):
            batch = texts[first : first + batch_size]
            sides = zip(*batch, strict=True) if pairs else [batch]
            sentences = [self._sentence(text, first + i + 1) for side in sides for i, text in enumerate(side)]
            scores = self.predicted(sentence_batch(sentences, self.tokenizer))["scores"]
            labels += [self.configuration.labels[i] for i in np.argmax(scores, axis=-1)]
        return labels

    def parse(self, texts, batch_size=128):
        """The tree that the model makes of each sentence, in binary brackets.

        Args:
            texts: a list of strings, words with single spaces between; brackets are ignored.
            batch_size: texts parsed at once.

        Returns:
            A list of strings, one for each text.

        Raises:
            UserError: the model does not parse, or a text has no words.
        """
        if not self.configuration.parses:
            raise UserError(f"encoder={self.configuration.encoder} does not parse: {' and '.join(OWN_PARSES)} do")
        trees = []
        for first in range(0, len(texts), batch_size):
            batch = enumerate(texts[first : first + batch_size], start=first + 1)
            sentences = [self._sentence(text, number) for number, text in batch]
            inputs = sentence_batch(sentences, self.tokenizer)
            transitions = self._predictors(tuple(sorted(inputs)), False)(inputs)["transitions"].numpy()
            trees += [to_brackets(sentence.words, row) for sentence, row in zip(sentences, transitions, strict=True)]
        return trees

    def _sentence(self, text, number):
        """The `Sentence` that the text of that number tells, with its tree if the model needs it."""
        try:
            if self.configuration.needs_parses:
                return Sentence(*from_brackets(text))
        except UserError as error:
            raise UserError(f"text {number}: {error}") from error
        words = [word for word in text.split() if word not in ("(", ")")]
        if not words:
            raise UserError(f"text {number}: there are no words")
        return Sentence(words)

    def predicted(self, inputs):
        """What the model gives for a batch, as NumPy arrays, traced once for all shapes."""
        predictions = self._predictors(tuple(sorted(inputs)), True)(inputs)
        return {name: value.numpy() for name, value in predictions.items()}

    def _new_predictor(self, names, with_head):
        """A `tf.function` of batches with these names: the whole model, or its encoder, which knows of no pairs."""
        signature = {name: tf.TensorSpec([None, None], tf.int32) for name in names}
        part = functools.partial(self if with_head else self.encoder, training=False)
        return tf.function(part, input_signature=[signature], autograph=False)

    def get_config(self):
        """Plain values from which `from_config` makes the same model, tokenizer and all."""
        return {
            "configuration": self.configuration.model_dump(mode="json"),
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
