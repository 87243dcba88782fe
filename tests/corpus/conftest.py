"""Small models with random weights, as directories."""

import io
import sys

import keras
import pytest

from tests.commands.calls import call
from tests.serving.conftest import made
from tfnmt.classification.classifier import Classifier
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.training.model_directory import save_configuration, save_tokenizers, save_weights


def saved(model, directory):
    """The directory of a model, written there."""
    save_tokenizers(model, directory)
    save_configuration(model, directory)
    save_weights(model, directory)
    return directory


@pytest.fixture(scope="session")
def translator(tmp_path_factory):
    """The directory of a small translator."""
    return saved(made(), tmp_path_factory.mktemp("translator"))


@pytest.fixture(scope="session")
def parser(tmp_path_factory):
    """The directory of a small classifier that parses."""
    return saved_classifier(tmp_path_factory.mktemp("parser"), "sst", "spinn")


def saved_classifier(directory, task, encoder, **options):
    """The directory of a small classifier."""
    keras.utils.set_random_seed(1)
    sizes = dict.fromkeys(("embedding_size", "units", "tracker_units", "head_units"), 8)
    words = WordTokenizer.train(["a film that is not so very good", "A dog runs"])
    return saved(Classifier(ClassifierConfiguration(task=task, encoder=encoder, **sizes, **options), words), directory)


@pytest.fixture
def printed(monkeypatch):
    """`printed(verb, text, *options)`: what a command makes of bytes on its standard input."""

    def run(verb, text, *options):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        return call(verb, *options)

    return run
