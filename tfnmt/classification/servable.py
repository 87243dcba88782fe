"""The exported classifier: signatures from text to labels, vectors and parse trees."""

import types

import tensorflow as tf

from tfnmt.classification.classifier import Classifier
from tfnmt.devices import on_cpu
from tfnmt.quantization import StoredWeights
from tfnmt.shapes import function_of_texts
from tfnmt.text.brackets import PAD
from tfnmt.text.graph_brackets import (
    NO_TREE,
    are_brackets,
    brackets_as_words,
    brackets_from_transitions,
    transitions_from_brackets,
    without_brackets,
)
from tfnmt.text.tokenizers import PADDING

_WORDS = "string [batch]: words separated by spaces, UTF-8; brackets are ignored"
_WORDS_AND_BRACKETS = "string [batch]: words and brackets, separated by spaces, UTF-8"
_TREES = "string [batch]: binary trees, such as ( ( A dog ) runs ), UTF-8"
_OUTPUTS = {
    "label": "string [batch]: the most probable class",
    "probabilities": "float32 [batch, classes]: of every class",
    "classes": "string [batch, classes]: their names",
}
_PARSES = {
    "brackets": "string [batch]: the parse tree that the model predicts",
    "reduce_probabilities": "float32 [batch, steps]: at each step, a word or a closing bracket of the tree, the"
    " probability of REDUCE rather than SHIFT: 0 or 1 where only one of them was possible, and 0 after the last",
}
_WORDS_READ = {
    "words": "string [batch, words]: the words as the model reads them, <unk> for one that it does not know, then empty"
    " strings as padding",
    "written": "string [batch, words]: the same with unknown words too, as the text has them but for upper case"
    " where the model reads none, and for what Unicode writes in several ways",
}
_NO_WORDS = "each text must have a word"
_AS_MANY = "there must be as many first texts as second ones"
_LIMITS = {"text_tokens": 500, "request_tokens": 4000}
"""As much as takes SPINN in the sizes of the preset `snli` no more than a second of a processor."""


class ClassifierServable(tf.Module):
    """A classifier with its tokenizer and weights, as a module for `tf.saved_model.save`.

    Args:
        model: a `Classifier`.
        precision: see `StoredWeights`.
    """

    kind = "classifier"
    # Warm-up requests: of one row and of several, short and long. Models that need no trees ignore the brackets.
    examples = (
        ["( ( A dog ) runs )"],
        ["( ( The dog ) ( sees ( a ball ) ) )", "( ( Two men ) ( stand ( in ( front ( of ( a house ) ) ) ) ) )"],
        ["( ( The ( tired woman ) ) ( ( gives him ) ( a ( small newspaper ) ) ) )"] * 8,
    )

    def __init__(self, model: Classifier, precision: str = "none"):
        super().__init__(name="classifier")
        self.options = {"quantize": precision, "models": 1}
        # What `tf.Module` must not track. Models: their variables would be saved beside those of `StoredWeights`.
        # Functions: `tf.saved_model.save` would trace each once more, where the signatures' traces are enough.
        self._untracked = types.SimpleNamespace(model=model)
        self.tokenizer = model.tokenizer
        self.weights = StoredWeights([model], precision)
        c = model.configuration
        words = _WORDS_AND_BRACKETS if c.brackets_as_words else _WORDS
        text = _TREES if c.needs_brackets else words
        inputs = {"first": text, "second": text} if c.reads_pairs else {"text": text}
        vector = {"vector": "float32 [batch, size]: the sentence's vector"}
        self.documentation = {
            "serving_default": {"inputs": inputs, "outputs": _OUTPUTS},
            "encode": {"inputs": {"text": text}, "outputs": vector},
            "words": {"inputs": {"text": text}, "outputs": _WORDS_READ},
        }
        methods = {
            "serving_default": self._pairs if c.reads_pairs else self._sentences,
            "encode": self._encode,
            "words": self._words,
        }
        if model.encoder_spec.predicts_parses:
            self.documentation["parse"] = {"inputs": {"text": text}, "outputs": _PARSES}
            methods["parse"] = self._parse
        self._untracked.functions = {
            name: function_of_texts(method, *self.documentation[name]["inputs"]) for name, method in methods.items()
        }
        check = function_of_texts(self._check, "text")
        self.checks = {name: dict.fromkeys(self.documentation[name]["inputs"], check) for name in methods}
        self.limits = dict.fromkeys(methods, _LIMITS)

    @property
    def functions(self) -> dict[str, tf.types.experimental.PolymorphicFunction]:
        """The `tf.function` of each signature."""
        return self._untracked.functions

    def _sentences(self, text):
        return self._classify(self._inputs(text))

    def _pairs(self, first, second):
        as_many = tf.debugging.Assert(tf.equal(tf.size(first), tf.size(second)), [_AS_MANY])
        with tf.control_dependencies([as_many]):
            both = tf.concat([first, second], axis=0)
        return self._classify(self._inputs(both))

    def _encode(self, text):
        model, inputs = self._untracked.model, self._inputs(text)
        with self.weights.in_use([model]):
            return {"vector": tf.cast(model.encoder(inputs, training=False)["root"], tf.float32)}

    @on_cpu
    def _words(self, text):
        tokenizer, words = self._untracked.model.tokenizer, without_brackets(self._rewritten(text))
        ids, written = tokenizer.encode(words).to_tensor(PADDING), tokenizer.surface_forms(words).to_tensor("")
        return {"words": tf.where(ids == PADDING, "", tokenizer.ids_to_tokens(ids)), "written": written}

    def _parse(self, text):
        model, inputs = self._untracked.model, self._inputs(text)
        with self.weights.in_use([model]):
            parsed = model.encoder(inputs, training=False)
        words, transitions = tf.strings.split(without_brackets(self._rewritten(text))), parsed["transitions"]
        shift, reduce = tf.unstack(tf.cast(parsed["transition_logits"], tf.float32), axis=2)
        reduce_probabilities = tf.sigmoid(reduce - shift)  # a softmax's 1 is 0.99999994 on some processors
        return {
            "brackets": brackets_from_transitions(words, transitions),
            "reduce_probabilities": tf.where(transitions == PAD, 0.0, reduce_probabilities),
        }

    def _check(self, text):
        """What `tfnmt.serving.export.Servable.checks` says."""
        model, words = self._untracked.model, without_brackets(self._rewritten(text))
        problem = tf.where(without_brackets(text) == "", _NO_WORDS, "")
        if model.configuration.needs_brackets:
            problem = tf.where(are_brackets(text), problem, NO_TREE)
        return {"tokens": tf.cast(model.tokenizer.encode(words).row_lengths(), tf.int32), "problem": problem}

    def _classify(self, inputs):
        model = self._untracked.model
        with self.weights.in_use([model]):
            logits = model(inputs, training=False)["logits"]
        names = tf.constant(model.configuration.labels)
        label = tf.gather(names, tf.argmax(logits, axis=-1))
        classes = tf.tile(names[tf.newaxis], [tf.shape(logits)[0], 1])
        return {"label": label, "probabilities": tf.nn.softmax(tf.cast(logits, tf.float32)), "classes": classes}

    @on_cpu
    def _inputs(self, text):
        """Strings [sentences] → a batch of them, as `tfnmt.data.example_batches` makes it."""
        model = self._untracked.model
        checks = [tf.debugging.Assert(tf.reduce_all(without_brackets(text) != ""), [_NO_WORDS])]
        if model.configuration.needs_brackets and not model.encoder_spec.needs_parses:  # which reads them below
            checks.append(tf.debugging.Assert(tf.reduce_all(are_brackets(text)), [NO_TREE]))
        text = self._rewritten(text)
        words = without_brackets(text)
        with tf.control_dependencies(checks):
            inputs = {"words": model.tokenizer.encode(words).to_tensor(PADDING)}
        if model.encoder_spec.needs_parses:
            inputs["transitions"] = transitions_from_brackets(text)
        # A column where there are no texts: not all layers read sentences of no words.
        return {name: tf.pad(x, [[0, 0], [0, tf.cast(tf.shape(x)[1] == 0, tf.int32)]]) for name, x in inputs.items()}

    def _rewritten(self, text):
        """The text as the model reads it."""
        return brackets_as_words(text) if self._untracked.model.configuration.brackets_as_words else text
