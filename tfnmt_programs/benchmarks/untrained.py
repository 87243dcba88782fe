"""Models and tokenizers of the right sizes, for what depends on sizes alone."""

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.text.tokenizer import SPECIAL_TOKENS
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.translator import Translator


def placeholder_tokenizer(vocabulary_size: int) -> WordTokenizer:
    """A tokenizer of the words w0, w1 …, so many that there are `vocabulary_size` with the special ones."""
    return WordTokenizer([f"w{i}" for i in range(vocabulary_size - len(SPECIAL_TOKENS))])


def untrained_translator(configuration: TranslatorConfiguration, vocabulary_size: int) -> Translator:
    """A translator of that configuration with so many words on both sides."""
    tokenizer = placeholder_tokenizer(vocabulary_size)
    return Translator(configuration, tokenizer, tokenizer)


def untrained_classifier(configuration: ClassifierConfiguration, vocabulary_size: int) -> Classifier:
    """A classifier of that configuration with so many words."""
    return Classifier(configuration, placeholder_tokenizer(vocabulary_size))
