"""A small translator that writes something else for every sentence, and its export."""

import keras
import numpy as np
import pytest

from tfnmt.data.sample import sample_pairs
from tfnmt.models.configuration import TranslatorConfiguration
from tfnmt.models.search_configuration import SearchConfiguration
from tfnmt.models.translator import Translator
from tfnmt.serving.export import export
from tfnmt.text.tokenizers import END, SubwordTokenizer, WordTokenizer

SIZES = ("source_embedding_size", "target_embedding_size", "encoder_units", "decoder_units", "attention_units")
TOKENIZERS = {
    "subword": lambda lines: SubwordTokenizer.train(lines, vocabulary_size=120),
    "word": lambda lines: WordTokenizer.train(lines, split_punctuation=True, lowercase=True),
}


def made(kind="subword", seed=1, **options):
    """A translator with large random weights: what it writes depends on every word that it reads."""
    keras.utils.set_random_seed(seed)
    sides = zip(*sample_pairs(200, seed=0, split="train"), strict=True)
    tokenizers = [TOKENIZERS[kind](list(lines)) for lines in sides]
    model = Translator(TranslatorConfiguration(**dict.fromkeys(SIZES, 8) | options), *tokenizers)
    random = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(random.normal(size=weight.shape, scale=0.8))
    bias = model.decoder.b.numpy()
    bias[:END] = -20.0
    bias[END] += 2.5
    model.decoder.b.assign(bias)
    return model


@pytest.fixture(scope="session")
def model():
    return made()


@pytest.fixture(scope="session")
def sentences():
    return [english for english, _ in sample_pairs(150, seed=0, split="test")]


@pytest.fixture(scope="session")
def exported(model, tmp_path_factory):
    """The path of version 1 of "sample", a beam of 3."""
    output = tmp_path_factory.mktemp("saved_models")
    return export([model], output, "sample", SearchConfiguration(beam_size=3, n_best=2))
