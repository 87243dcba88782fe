"""The samples on a classifier's model card."""

import keras

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.classification.model_card import _samples
from tfnmt.data.examples import Example, Sentence
from tfnmt.text.tokenizers import WordTokenizer


def test_a_pair_is_shown_with_both_sentences_and_its_label():
    keras.utils.set_random_seed(1)
    configuration = ClassifierConfiguration(task="snli", encoder="bag", embedding_size=4, units=4, head_units=4)
    model = Classifier(configuration, WordTokenizer([*"abcdef"]))
    pairs = [("a b", "c"), ("d", "e f"), ("f a", "b")]
    predicted = model.classify(pairs)
    right = [predicted[0], *(next(label for label in configuration.labels if label != each) for each in predicted[1:])]
    examples = [
        Example(tuple(Sentence(side.split()) for side in pair), configuration.labels.index(label))
        for pair, label in zip(pairs, right, strict=True)
    ]
    told = [
        predicted[0],
        *(f"{wrong}; right is {label}" for wrong, label in zip(predicted[1:], right[1:], strict=True)),
    ]
    expected = [f"{first}\n{second}\nlabel: {label}" for (first, second), label in zip(pairs, told, strict=True)]
    assert _samples(model, examples) == "\n\n".join(expected)
