"""A translator, or several as one, from text to text: what is exported, signature by signature."""

import tensorflow as tf

from tfnmt.data.pair_batches import LONGEST_TOKEN
from tfnmt.quantization import StoredWeights
from tfnmt.search.constraints import force_prefix
from tfnmt.search.greedy import greedy_search
from tfnmt.search.step import ensemble
from tfnmt.text.tokenizers import END, PADDING, START
from tfnmt.translation.searcher import Searcher

_TEXTS = "string [batch]: sentences, UTF-8"
SIGNATURES = {
    "serving_default": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "translation": "string [batch]: the best translation; an empty text's is empty",
            "score": "float32 [batch]: its log-probability, divided by its length to the power of the length penalty",
        },
    },
    "nbest": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "translations": "string [batch, n]: the n best translations, best first",
            "scores": "float32 [batch, n]: their scores",
        },
    },
    "align": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "translation": "string [batch]: the best translation",
            "source_words": "string [batch, source_length]: what the model read, then empty strings as padding",
            "target_words": "string [batch, target_length]: what it wrote, then empty strings as padding",
            "attention": "float32 [batch, target_length, source_length]: which words read each written one looked at;"
            " a written word's sum is 1, and padding is 0",
        },
    },
    "score": {
        "inputs": {"source": _TEXTS, "target": "string [batch]: a translation of each, UTF-8"},
        "outputs": {"log_probability": "float32 [batch]: of the target and its end, given the source"},
    },
    "encode": {
        "inputs": {"text": _TEXTS},
        "outputs": {"summary": "float32 [batch, size]: the encoder's summary of each text (side by side of several)"},
    },
}


class TranslatorServable(tf.Module):
    """Translators with their tokenizers, weights and search, as `tf.saved_model.save` takes them.

    Args:
        models: `Translator`s with the same tokenizers; the mean of their probabilities counts.
        search: a `SearchConfiguration`.
        precision: see `StoredWeights`.
        shortlist: a `Shortlist`, or None for all words.

    Raises:
        UserError: the models do not go together.
    """

    kind = "translator"
    # Warm-up requests: of one row and of several, short and long.
    examples = (
        ["A dog runs."],
        ["The small dog sees a red ball.", "Two men in blue shirts are standing in front of a building."],
        ["If he has called him, the tired woman gives him a small newspaper."] * 8,
    )

    def __init__(self, models, search, precision="none", shortlist=None):
        super().__init__(name="translator")
        self.options = {"quantize": precision, "models": len(models), "search": search.model_dump(mode="json")}
        has_attention = all(model.configuration.attention != "none" for model in models)
        searcher = Searcher(models, search.replace(alignments=False), shortlist)
        aligner = None
        if has_attention:
            aligner = Searcher(models, search.replace(alignments=True), shortlist)
        self._outside = _Outside(models, searcher, aligner)
        self.tokenizers = [searcher.source_tokenizer, searcher.target_tokenizer]
        self.weights = StoredWeights(models, precision)
        self._found = _traced(lambda text: self._find(searcher, text), "text")
        self.documentation = {name: SIGNATURES[name] for name in SIGNATURES if name != "align" or aligner}
        methods = {name: getattr(self, f"_{name}") for name in self.documentation}
        self.functions = {name: _traced(method, *SIGNATURES[name]["inputs"]) for name, method in methods.items()}

    def _find(self, searcher, text):
        with self.weights.in_use(self._outside.models):
            return searcher.find(self._cut(text))

    def _serving_default(self, text):
        found = self._found(text)
        return {"translation": found.texts[:, 0], "score": found.scores[:, 0]}

    def _nbest(self, text):
        found = self._found(text)
        return {"translations": found.texts, "scores": found.scores}

    def _align(self, text):
        searcher = self._outside.aligner
        found, source = self._find(searcher, text), self._outside.reader.source_ids(self._cut(text))
        return {
            "translation": found.texts[:, 0],
            "source_words": _words(searcher.source_tokenizer, source),
            "target_words": _words(searcher.target_tokenizer, found.ids[:, 0]),
            "attention": found.attention[:, 0],
        }

    def _score(self, source, target):
        models, searcher = self._outside.models, self._outside.searcher
        words = searcher.target_tokenizer.encode(tf.concat([target, [""]], axis=0))  # one more: no batch is empty
        words = tf.concat([words, tf.fill([tf.shape(target)[0] + 1, 1], END)], axis=1)[:-1]
        with self.weights.in_use(models):
            read = self._outside.reader.source_ids(self._cut(source))
            steps, states, memories = zip(*(model.search_step(read) for model in models), strict=True)
            step, states = force_prefix(ensemble(steps), states, words.to_tensor(PADDING))
            found = greedy_search(step, states, memories, START, END, tf.cast(words.row_lengths(), tf.int32))
        return {"log_probability": found.log_probabilities[:, 0]}

    def _encode(self, text):
        models, reader = self._outside.models, self._outside.reader
        with self.weights.in_use(models):
            source = reader.source_ids(self._cut(text))
            summaries = [tf.cast(model.encoder(source)["summary"], tf.float32) for model in models]
        return {"summary": tf.concat(summaries, axis=1)}

    def _cut(self, text):
        """`text` without what the models would not read: an endless one must not be tokenized first."""
        longest = LONGEST_TOKEN * self._outside.reader.configuration.maximum_source_length
        return tf.strings.substr(text, 0, longest, unit="UTF8_CHAR")


class _Outside:
    """What `tf.Module` must not see: Keras's variables would be saved beside those of `StoredWeights`."""

    def __init__(self, models, searcher, aligner):
        self.models, self.searcher, self.aligner = models, searcher, aligner
        # What is too long for it is cut for all.
        self.reader = min(models, key=lambda model: model.configuration.maximum_source_length)


def _traced(method, *inputs):
    specifications = [tf.TensorSpec([None], tf.string, name) for name in inputs]
    return tf.function(method, input_signature=specifications, autograph=False)


def _words(tokenizer, ids):
    """Ids → their words, "" where there is padding."""
    return tf.where(ids == PADDING, "", tokenizer.ids_to_tokens(ids))
